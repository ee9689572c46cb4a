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
//! - `series.rs`: from stored runs to series and their steps; `page.rs`: these, to be read.
//! - `difference.rs`: two runs; `difference_page.rs`: these, to be read.
//! - `agreement.rs`: whether a result that comes from elsewhere holds together.
#![forbid(unsafe_code)]

pub mod agreement;
pub mod difference;
pub mod difference_page;
pub mod page;
pub mod series;
