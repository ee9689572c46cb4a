//! The table behind the functions.
#![forbid(unsafe_code)]

use furlong::phys::{SegmentTable, Segments, Standard};

use super::page::PhysPage;

/// The number of segments that a table can hold without more memory.
const SEGMENTS: usize = 32;

/// Segments, with descriptors for C.
pub(crate) type Table = SegmentTable<PhysPage, Standard, SEGMENTS>;

/// The same under its lock.
pub(crate) type Locked<'a> = Segments<'a, PhysPage, Standard, SEGMENTS>;
