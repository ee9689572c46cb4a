//! The command's verbs about memory systems.

pub mod malloc;
pub mod peers;
pub mod record;
pub mod replay;
pub mod seeds;

use std::process::ExitCode;

use furlong_lab::Error;

/// A verb of the experiments.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Compare the published claims about the five systems with this machine's figures
    Seeds(seeds::Args),
    /// Record a real program's calls of a system, as a trace
    Record(record::Args),
    /// Run a recorded trace through subjects, every answer checked
    Replay(replay::Args),
    /// Advise on the allocator of a program
    Malloc(malloc::Args),
    /// Build peers that no package ships, for --peers
    Peers(peers::Args),
}

impl Verb {
    /// Runs the verb.
    ///
    /// # Errors
    ///
    /// The verb's own error.
    pub fn run(self) -> Result<ExitCode, Error> {
        match self {
            Verb::Seeds(args) => seeds::run(&args),
            Verb::Record(args) => record::run(&args),
            Verb::Replay(args) => replay::run(&args),
            Verb::Malloc(args) => malloc::run(&args, &[]),
            Verb::Peers(_) => peers::elsewhere(),
        }
    }
}
