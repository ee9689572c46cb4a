//! The record of a run.
//!
//! # Files
//!
//! - `measured.rs`: a finished block.
//! - `ledger.rs`: a run's result while it grows, and its copy in the store.
//! - `line.rs`: the lines of a ledger, which can be replayed to another.
//! - `judged.rs`: a result with its verdicts.
//! - `functions.rs`: the functions behind a difference.
//! - `comparison.rs`: names of comparisons; `class.rs`: classes of machines.
//! - `run_name.rs`: names of runs.
//! - `store/`: the database of runs.
//! - `machine.rs`: properties of the machine.
//! - `build.rs`: properties of this binary.
//! - `place.rs`: directories of the user's data, and private files.

pub mod build;
pub mod class;
pub mod comparison;
pub mod functions;
pub mod judged;
pub mod ledger;
pub mod line;
pub use furlong_bench::machine;
pub mod measured;
pub mod place;
pub mod run_name;
pub mod store;

use crate::model::result::Machine;
use machine::{CpuTime, Files};

/// Share of the processors above which other work disturbs.
const LOAD_MAX: f64 = 0.5;

/// Share of stolen time above which it disturbs, per cent.
pub(crate) const STEAL_MAX_PCT: f64 = 1.0;

/// Returns the load of a machine if it disturbs.
pub(crate) fn disturbing_load(machine: &Machine) -> Option<f64> {
    let most = LOAD_MAX * f64::from(machine.cpus);
    machine.load_1m.filter(|load| *load > most)
}

/// Returns the share of time that went to other guests since an earlier moment, per cent.
pub(crate) fn stolen_pct(files: &Files, since: Option<CpuTime>) -> Option<f64> {
    files.cpu_time()?.steal_pct(since?)
}
