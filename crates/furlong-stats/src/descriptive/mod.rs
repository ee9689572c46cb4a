//! Descriptions of samples.
#![forbid(unsafe_code)]

pub mod describe;
pub mod drift;
pub mod outliers;
