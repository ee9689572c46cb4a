//! Descriptions of samples.

pub mod describe;
pub mod drift;
pub mod outliers;
