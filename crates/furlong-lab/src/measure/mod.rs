//! Measuring: blocks, processes, counters.
#![forbid(unsafe_code)]
pub mod finished;
pub mod launcher;
pub mod words;
