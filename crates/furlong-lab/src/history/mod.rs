//! The history: a figure from run to run on one machine, and the difference of two runs.
//!
//! # Words
//!
//! - *Series*: one figure of one arm on one workload, with one point per run, on one machine.
//! - *Step*: a change of a series' level by more than the metric's margin.
//!
//! # Files
//!
//! - `series.rs`: from stored runs to series and their steps; `machine_history.rs`: all of a
//!   machine's; `page.rs`: their page.
//! - `difference.rs`: two runs; `difference_page.rs`: their page.
//! - `figures.rs`: the same for programs.
//! - `agreement.rs`: consistency of a result from another machine.

pub mod agreement;
pub mod difference;
pub mod difference_page;
mod figures;
pub mod machine_history;
pub mod page;
pub mod series;
