//! What a run leaves behind.
#![forbid(unsafe_code)]

pub mod result;
