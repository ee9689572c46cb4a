//! The verdict's guarantees, checked by simulation.
#![forbid(unsafe_code)]

pub mod promise;
pub mod simulation;
