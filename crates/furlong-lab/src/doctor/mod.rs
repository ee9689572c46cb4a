//! Conditions on this machine that would spoil a measurement, with remedies.
//!
//! # Files
//! - `finding`: the result of one check; `checks`: checks of the machine's properties
//! - `floor`: the noise floor of this machine
//! - `duet`: planted changes in commands that run at once

pub mod checks;
pub mod duet;
pub mod finding;
pub mod floor;

pub use duet::DuetCheck;
pub use finding::{Finding, State};
pub use floor::Floor;
