//! Devicetrees: the nodes `memory@..` with their `reg`, and what `reserved-memory` takes away.
//!
//! Two forms are read: a tree's source, as `dtc -O dts` prints it, and a dump of single properties.
//! How many cells an address and a size have is said by the node above, and is 2 and 1 where it is
//! not said.
#![forbid(unsafe_code)]

mod dump;
mod memory;
mod source;

pub(super) use dump::{is_one as is_dump, read as read_dump};
pub(super) use source::{is_one as is_source, read as read_source};
