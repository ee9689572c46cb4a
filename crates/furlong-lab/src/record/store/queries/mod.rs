//! Queries of the stored runs.
//!
//! # Files
//!
//! - `read.rs`: queries of `show`, `list` and `--resume`.
//! - `past.rs`: queries of the history; `lists.rs`: queries for lists of runs.
//! - `gather.rs`: whole runs and parts of many, in a fixed number of statements.

pub(super) mod gather;
pub(super) mod lists;
pub(super) mod past;
pub(super) mod read;
