//! A user's commands as arms.
//!
//! # Files
//!
//! - `comparison.rs`: samples of the commands; `duet.rs`: two at once.
//! - `parameter.rs`: sweeps over commands.
//! - `output.rs`, `pattern.rs`: figures in the output of commands.

pub mod comparison;
pub mod duet;
mod output;
pub mod parameter;
pub mod pattern;
