//! Distributions and random numbers.

pub mod distribution;
pub mod random;
