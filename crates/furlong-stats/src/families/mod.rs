//! Several metrics, arms, machines or workloads at once.
#![forbid(unsafe_code)]

pub mod geomean;
pub mod holm;
pub mod nodes;
