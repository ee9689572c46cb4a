//! The verdict's guarantees, checked by simulation.

pub mod bisection;
pub mod family;
pub mod promise;
pub mod simulation;
