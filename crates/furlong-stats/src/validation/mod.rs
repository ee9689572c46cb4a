//! The verdict's guarantees, checked by simulation.

pub mod family;
pub mod promise;
pub mod simulation;
