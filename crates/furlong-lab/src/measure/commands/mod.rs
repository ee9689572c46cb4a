//! A user's commands as arms.
//!
//! # Files
//!
//! - `comparison.rs`: samples of the commands; `parameter.rs`: sweeps over them.
//! - `output.rs`, `pattern.rs`: figures in the output of commands.

pub mod comparison;
mod output;
pub mod parameter;
pub mod pattern;
