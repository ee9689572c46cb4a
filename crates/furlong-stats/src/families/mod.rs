//! Several metrics, arms, machines or workloads at once.

pub mod geomean;
pub mod holm;
pub mod layouts;
pub mod nodes;
