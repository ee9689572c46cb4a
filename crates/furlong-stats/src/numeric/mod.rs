//! Distributions and random numbers.
#![forbid(unsafe_code)]

pub mod distribution;
pub mod random;
