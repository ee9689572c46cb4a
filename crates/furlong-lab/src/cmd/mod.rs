//! The verbs of the command, a file each.
#![forbid(unsafe_code)]

pub mod stat;
