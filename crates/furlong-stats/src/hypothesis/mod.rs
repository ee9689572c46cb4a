//! Tests, and intervals of effects.

pub mod paired;
pub mod rank;
pub mod ratio;
pub mod shift;
pub mod sign_flip;
pub mod student;
pub mod variance;
pub mod welch;
