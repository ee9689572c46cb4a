//! Measuring: blocks, processes, counters.
#![forbid(unsafe_code)]
pub mod callgrind;
pub mod command;
pub mod finished;
pub mod launcher;
pub mod words;
