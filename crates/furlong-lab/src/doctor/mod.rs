//! What on this machine would spoil a measurement, and what to do about it.
//!
//! # Files
//! - `finding`: one thing that was looked at; `checks`: what the machine says of itself
//! - `floor`: how much two identical programs differ here
#![forbid(unsafe_code)]

pub mod checks;
pub mod finding;
pub mod floor;

pub use finding::{Finding, State};
pub use floor::Floor;
