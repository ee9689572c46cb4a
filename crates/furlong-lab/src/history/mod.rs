//! What stored runs say together: how a figure went from run to run on one machine, and how two
//! runs differ.
//!
//! # Words
//!
//! - *Series*: one figure of one arm on one workload, a point a run, all on one machine.
//! - *Step*: where a series changed its level, by more than the metric's margin.
//!
//! # Files
//!
//! - `series.rs`: from stored runs to series and their steps; `course.rs`: all of a machine's;
//!   `page.rs`: these, to be read.
//! - `difference.rs`: two runs; `difference_page.rs`: these, to be read.
//! - `figures.rs`: both, for programs.
//! - `agreement.rs`: whether a result that comes from elsewhere holds together.
#![forbid(unsafe_code)]

pub mod agreement;
pub mod course;
pub mod difference;
pub mod difference_page;
mod figures;
pub mod page;
pub mod series;
