//! The lab: the command `furlong` as a library, so that other binaries can bring further arms.
//!
//! # Files
//!
//! - `cli.rs`: the command line; `cmd/`: its verbs, a file each; `settings.rs`: `furlong.toml`.
//! - `bench.rs`: experiments on one's own code, run by `cargo bench`.
//! - `experiments/`: what can be run; `measure/`: how; `record/`: what is kept of it.
//! - `stats/`: from samples to a verdict; `report/`: from a result to a page.
//! - `fleet/`: a run that several machines share.
//! - `doctor/`: what on this machine would spoil a measurement.
//! - `ministat/`: files of numbers, as ministat reads and draws them.
//! - `history/`: what stored runs say together.
//! - `serve/`: the same in a browser.
//! - `seeds/`: the figures of the documents that the systems come from.
//! - `session.rs`: an invocation that measures; `archive.rs`: the store as the verbs use it;
//!   `publish.rs`: where a result goes.
//! - `recorder/`: traces of real programs, made; `replay/`: run again through subjects.
//! - `peers.rs`: the same command with other people's implementations.
//! - `misuse.rs`: a command line that says what no option says; `error.rs`: exit codes; `talk.rs`:
//!   the terminal; `nearest.rs`: mistyped names; `hash.rs`.

// The fixture of the suite in `tests/` serves the store's own tests too, and names this crate.
#[cfg(test)]
extern crate self as furlong_lab;

use std::process::ExitCode;

use clap::Parser;

pub mod archive;
pub mod bench;
pub mod cli;
pub mod cmd;
pub mod doctor;
pub mod error;
pub mod experiments;
pub mod fleet;
pub mod hash;
pub mod history;
pub mod measure;
pub mod ministat;
pub mod misuse;
pub mod nearest;
pub mod peers;
pub mod publish;
pub mod record;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod seeds;
pub mod serve;
pub mod session;
pub mod settings;
pub mod stats;
pub mod talk;

pub use crate::bench::bench;
pub use crate::experiments::Experiment;

/// The command, with the experiments that it knows: all of `fn main`.
#[must_use]
pub fn main(experiments: &[Experiment]) -> ExitCode {
    parsed(experiments, None)
}

/// The same for the binary that brings the peers, with what builds those that nobody ships.
#[must_use]
pub fn main_with_peers(experiments: &[Experiment], build: peers::Build) -> ExitCode {
    parsed(experiments, Some(build))
}

fn parsed(experiments: &[Experiment], build: Option<peers::Build>) -> ExitCode {
    match cli::Cli::try_parse() {
        Ok(cli) => run(cli, experiments, build),
        Err(refused) => misuse::say(&refused),
    }
}

/// Does what a command line says.
fn run(cli: cli::Cli, experiments: &[Experiment], build: Option<peers::Build>) -> ExitCode {
    measure::interrupt::outlive_file_limit();
    cli.run(experiments, build).unwrap_or_else(|error| {
        talk::error(&error);
        error.exit.into()
    })
}
