//! The verbs of the command that are about memory systems.
#![forbid(unsafe_code)]

pub mod peers;
pub mod record;
pub mod replay;
pub mod seeds;

use std::process::ExitCode;

use furlong_lab::Error;

/// A verb that these experiments bring.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Set what the published sources of the five systems claim beside this machine's figures
    Seeds(seeds::Args),
    /// Record what a real program asks of a system, as a trace
    Record(record::Args),
    /// Run a recorded trace through subjects, every answer checked
    Replay(replay::Args),
    /// Build peers that nobody ships, for --peers
    Peers(peers::Args),
}

impl Verb {
    /// Carries the verb out.
    ///
    /// # Errors
    ///
    /// Why it cannot be done.
    pub fn run(self) -> Result<ExitCode, Error> {
        match self {
            Verb::Seeds(args) => seeds::run(&args),
            Verb::Record(args) => record::run(&args),
            Verb::Replay(args) => replay::run(&args),
            Verb::Peers(_) => peers::elsewhere(),
        }
    }
}
