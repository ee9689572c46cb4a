//! The lab: the command `furlong` as a library, so that other binaries can bring further arms.
//!
//! # Files
//!
//! - `cli.rs`: the command line; `cmd/`: its verbs, a file each; `settings.rs`: `furlong.toml`.
//! - `experiments/`: what can be run; `measure/`: how; `record/`: what is kept of it.
//! - `stats/`: from samples to a verdict; `report/`: from a result to a page.
//! - `ministat/`: files of numbers, as ministat reads and draws them.
//! - `session.rs`: an invocation that measures; `archive.rs`: the store as the verbs use it;
//!   `publish.rs`: where a result goes.
//! - `recorder/`: traces of real programs, made; `replay/`: run again through subjects.
//! - `peers.rs`: the same command with other people's implementations.
//! - `error.rs`: exit codes; `talk.rs`: the terminal; `nearest.rs`: mistyped names; `hash.rs`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

pub mod archive;
pub mod cli;
pub mod cmd;
pub mod error;
pub mod experiments;
pub mod hash;
pub mod measure;
pub mod ministat;
pub mod nearest;
pub mod peers;
pub mod publish;
pub mod record;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod session;
pub mod settings;
pub mod stats;
pub mod talk;

use crate::experiments::Experiment;

/// The command, with the experiments that it knows: all of `fn main`.
#[must_use]
pub fn main(experiments: &[Experiment]) -> ExitCode {
    let cli = cli::Cli::parse();
    measure::interrupt::outlive_file_limit();
    cli.run(experiments).unwrap_or_else(|error| {
        talk::error(&error);
        error.exit.into()
    })
}
