//! Runs other programs and measures them.
//!
//! # Files
//!
//! - `command.rs`: a user's command, prepared to run.
//! - `launcher.rs`: runs a command; `pair.rs`: runs two at once.
//! - `finished.rs`: the resources that a command used.
//! - `pmu.rs`: the counters of processor and kernel.
//! - `callgrind.rs`: runs a command under callgrind; `functions.rs`: reads its files by function;
//!   `names.rs`: names of functions.

pub mod callgrind;
pub mod command;
pub mod finished;
pub mod functions;
pub mod launcher;
pub mod names;
pub mod pair;
pub mod pmu;
