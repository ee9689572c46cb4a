//! Devicetrees: the `reg` of the nodes `memory@..`, less the ranges of `reserved-memory`.
//!
//! Two forms are supported: a tree's source, as `dtc -O dts` prints it, and a dump of single
//! properties. The parent node defines the number of cells in an address and in a size; the
//! defaults are 2 and 1.
#![forbid(unsafe_code)]

mod dump;
mod memory;
mod source;

pub(super) use dump::{is_one as is_dump, read as read_dump};
pub(super) use source::{is_one as is_source, read as read_source};
