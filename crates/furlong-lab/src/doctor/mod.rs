//! Conditions on this machine that would spoil a measurement, with remedies.
//!
//! # Files
//! - `finding`: the result of one check; `checks`: checks of the machine's properties
//! - `floor`: the noise floor of this machine

pub mod checks;
pub mod finding;
pub mod floor;

pub use finding::{Finding, State};
pub use floor::Floor;
