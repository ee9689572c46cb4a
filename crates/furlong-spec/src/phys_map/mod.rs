//! Memory maps of machines and recordings of memory hot-plug: the real-world input of `phys`.
//!
//! # Words
//!
//! An **entry** is a range of addresses of one **kind** that belongs to one **node**. A **map** is
//! entries in ascending order, without overlaps. A **segment** is the whole frames of an
//! allocatable entry, ready for a table of segments. A **form** is a notation for maps:
//! `/proc/iomem`, or the project's own. A **recording** is a sequence of plugs, unplugs and
//! look-ups, in frames.
//!
//! # What always holds
//!
//! - If entries overlap, the more restrictive kind applies. An unknown kind is never usable.
//! - Ends within a page are rounded so that a segment has whole frames only.
//! - Missing facts are not guessed: without a node in the source, the node is unknown.
//! - A map or a recording that is written reads as the same map or recording.
//! - Any bytes give a map or a message of one line with the fault and its place, never a panic.
#![forbid(unsafe_code)]

mod fault;
mod form;
mod iomem;
mod kind;
mod map;
mod native;
mod number;
mod real;
mod recording;
mod segment;
mod text;

pub use fault::{Fault, MapError};
pub use form::{Form, parse, parse_as};
pub use kind::Kind;
pub use map::{Broken, Entry, MemoryMap};
pub use real::{REAL_MAPS, RealMap};
pub use recording::{Operation, Recording};
pub use segment::Segment;
pub use text::provenance;

/// Maximum width of a physical address in bits, on x86-64 and on arm64.
pub const PHYS_BITS: u32 = 52;
