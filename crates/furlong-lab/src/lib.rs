//! The lab: the command `furlong` as a library. A program brings experiments, and further verbs if
//! it has any.
//!
//! # Files, from the top down
//!
//! - `cli.rs`: the command line; `cmd/`: its verbs, a file each; `misuse.rs`: refused ones
//! - `fleet/`: a run that several machines share; `serve/`: the history in a browser
//! - `session.rs`: an invocation that measures; `archive.rs`: the store for the verbs;
//!   `publish.rs`: output of a result; `peers.rs`: the same command with other people's
//!   implementations
//! - `options/`: options that several verbs share, and the user's defaults in `furlong.toml`
//! - `doctor/`: conditions on this machine that would spoil a measurement
//! - `history/`: comparisons between stored runs
//! - `report/`: from a result to a page; `ministat/`: files of numbers, read and drawn like
//!   ministat
//! - `measure/`: from a schedule to samples; `record/`: the samples kept, and the store
//! - `model/`: plans, experiments, schedules and results as plain values
//! - `agreement.rs`: assertions for the tests of experiments
//! - `error.rs`: exit codes; `talk.rs`: the terminal; `nearest.rs`: mistyped names;
//!   `shell_words.rs`: command lines; `hash.rs`
//!
//! Statistics are in `furlong-stats`; benchmarks for `cargo bench` in `furlong-bench`.

#![forbid(unsafe_code)]

// The command's tests share the store's fixture, which names this crate from outside.
#[cfg(test)]
extern crate self as furlong_lab;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod agreement;
pub mod archive;
pub mod cli;
pub mod cmd;
pub mod doctor;
pub mod error;
pub mod fleet;
pub mod history;
pub mod measure;
pub mod ministat;
pub mod misuse;
pub mod model;
pub mod nearest;
pub mod options;
pub mod peers;
pub mod publish;
pub mod record;
pub mod report;
#[cfg(feature = "team")]
pub mod serve;
pub mod session;
pub mod shell_words;
pub mod talk;

pub use crate::error::Error;
pub use crate::model::Experiment;
pub use furlong_bench::hash;

/// A `furlong` program: its experiments and its own verbs.
#[derive(Debug)]
pub struct Program<X> {
    /// Experiments in the order in which they are listed.
    pub experiments: Vec<Experiment>,
    /// Executes a further verb.
    pub further: fn(X) -> Result<ExitCode, Error>,
}

/// Type of the further verbs for a program without any.
pub use std::convert::Infallible as NoVerbs;

impl Program<NoVerbs> {
    /// Returns a program with experiments and the lab's own verbs.
    pub fn new(experiments: Vec<Experiment>) -> Self {
        Self {
            experiments,
            further: |verb| match verb {},
        }
    }
}

/// The whole `fn main` of a program.
pub fn main<X: Subcommand>(program: &Program<X>) -> ExitCode {
    match cli::Cli::<X>::try_parse() {
        Ok(cli) => run(cli, program),
        Err(refused) => misuse::say::<X>(&refused),
    }
}

/// Executes a command line.
fn run<X: Subcommand>(cli: cli::Cli<X>, program: &Program<X>) -> ExitCode {
    measure::interrupt::outlive_file_limit();
    cli.run(program).unwrap_or_else(|error| {
        talk::error(&error);
        error.exit.into()
    })
}
