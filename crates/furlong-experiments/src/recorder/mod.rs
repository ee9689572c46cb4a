//! Recorders: what real programs ask of a system, written down so that it can be replayed.
//!
//! # Files
//! - `program`: a command that is recorded.
//! - `malloc`: what a command asks of malloc.
//! - `vm`: what a command asks of its address spaces, for `vmspace`.
//!
//! A recorder of another system is a folder beside `vm`, with a verb in `cmd/record.rs`.
#![forbid(unsafe_code)]

pub mod malloc;
mod program;
pub mod vm;

pub use program::Program;
