//! A result in another tool's format, for its users and for programs that read its output.
//!
//! # Files
//! - `kernbench`: GNU time's lines, run by run; `fio`: spreads and differences in a small table;
//!   `ministat`: its summary and picture of the primary metric
//! - `hyperfine`: its JSON; `benchstat`: lines of Go's benchmarks
#![forbid(unsafe_code)]

mod benchstat;
pub(in crate::report) mod fio;
mod hyperfine;
mod kernbench;
mod ministat;

use serde::Deserialize;

pub use hyperfine::{IGNORE_FAILURE, PARAMETERS};

use super::finite::finite;
use crate::ministat::input::VALUES_MIN;
use crate::ministat::picture::SYMBOLS;
use crate::model::result::ResultFile;

/// Format of a result on standard output (`--format`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Tables, pictures and verdicts.
    #[default]
    Table,
    /// ministat's summary, picture and test of the primary metric, and the tables.
    Ministat,
    /// GNU time's lines for every run and for their mean, and the tables.
    Kernbench,
    /// Spread and difference of the primary metric, one line per workload, and the tables.
    Fio,
    /// The JSON of `hyperfine --export-json`.
    HyperfineJson,
    /// Lines that `benchstat -col arm` reads.
    Benchstat,
}

impl Form {
    /// True if a program reads it: nothing else may be printed on standard output.
    #[must_use]
    pub fn is_for_programs(self) -> bool {
        matches!(self, Self::HyperfineJson | Self::Benchstat)
    }

    /// Checks that the form can show a comparison of this many arms in this many blocks.
    ///
    /// # Errors
    ///
    /// The form's limits.
    pub fn check(self, arms: usize, blocks: u32) -> Result<(), String> {
        match self {
            Self::Ministat if (blocks as usize) < VALUES_MIN => Err(format!(
                "--format ministat needs {VALUES_MIN} runs: use --blocks {VALUES_MIN} or more"
            )),
            Self::Ministat if arms > SYMBOLS.len() => Err(format!(
                "--format ministat can show {} commands: leave some out, or omit --format",
                SYMBOLS.len()
            )),
            _ => Ok(()),
        }
    }

    /// The text on standard output before the tables or, for a program, instead of them.
    ///
    /// # Errors
    ///
    /// The data that the result lacks, and a remedy.
    pub fn render(self, file: &ResultFile) -> Result<String, String> {
        let file = &finite(file);
        match self {
            Self::Table => Ok(String::new()),
            Self::Ministat => ministat::render(file),
            Self::Kernbench => kernbench::render(file),
            Self::Fio => Ok(fio::render(file)),
            Self::HyperfineJson => hyperfine::render(file),
            Self::Benchstat => Ok(benchstat::render(file)),
        }
    }
}
