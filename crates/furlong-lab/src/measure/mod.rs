//! Measuring: blocks, processes, counters.
#![forbid(unsafe_code)]
