//! The verdict's guarantees, checked by simulation.

pub mod promise;
pub mod simulation;
