//! Memory maps of machines, as their sources print them, and recordings of memory that comes and
//! goes: the real input of `phys`.
//!
//! # Words
//!
//! An **entry** is a range of addresses of one **kind** that belongs to one **node**; a **map** is
//! entries in ascending order, of which none overlaps another. A **segment** is the whole frames of
//! an allocatable entry: what a table of segments is told. A **form** is a way to write a map down:
//! `/proc/iomem`, the firmware's map, a kernel's or SeaBIOS' log, a devicetree, our own. A
//! **recording** is a sequence of plugs, unplugs and look-ups, in frames.
//!
//! # What always holds
//!
//! - Where entries overlap, the more restrictive kind wins; what no reader knows is never usable.
//! - Ends that are no page ends are rounded so that a segment has whole frames only.
//! - What the source does not say is not guessed: a node is then unknown.
//! - A map and a recording that are written are read as the same map and recording.
//! - Any bytes give a map or one line that says what is wrong where; none gives a panic.
#![forbid(unsafe_code)]

mod devicetree;
mod fault;
mod firmware;
mod form;
mod iomem;
mod kernel_log;
mod kind;
mod map;
mod native;
mod number;
mod real;
mod recording;
mod scenario;
mod seabios;
mod segment;
mod text;

pub use fault::{Fault, MapError};
pub use form::{Form, parse, parse_as, read};
pub use kind::Kind;
pub use map::{Broken, Entry, MemoryMap, NodeRange};
pub use real::{REAL_MAPS, RealMap};
pub use recording::{Operation, Recording};
pub use scenario::{hotplug_chunks, virtio_mem};
pub use segment::Segment;
pub use text::provenance;

/// A physical address has so many bits at most, on x86-64 and on arm64.
pub const PHYS_BITS: u32 = 52;
