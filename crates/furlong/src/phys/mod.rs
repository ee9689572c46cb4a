//! Physical segments: hot plug and unplug while readers look pages up.
//!
//! # What it is
//! A table of physical memory segments. For a page frame it returns the segment and the page
//! descriptor, as a kernel does on its hottest paths. A [`SegmentTable`] is a `const` static at
//! boot and grows later without a change of type. A lookup takes about a nanosecond, and readers
//! never wait for a writer.
//!
//! # Words
//! - **frame**: a page of physical memory ([`Pfn`](crate::addr::Pfn)); **segment**: consecutive
//!   frames with one set of properties; **descriptor**: the user's record for a frame.
//! - **avail**: the frames of a segment that the page allocator may use.
//! - **plug**, **unplug**: to add frames, to take them out; **isolate**, **remove**, **abort**: the
//!   two phases of unplugging, and the way back.
//! - **boot**: the time before `start`, without descriptors; **steal**: to take a frame then.
//! - **slab**: an array of descriptors that segments share; **share**: a segment's part of it.
//! - **host**: the first frames of a range, if they hold the range's own bookkeeping.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) of [`Segments`] walks them and names the broken one
//! ([`BrokenTable`]).
//! - I1: segments ascend, do not overlap, are not empty, and have frames below 2^40.
//! - I2: start <= avail start <= avail end <= end; the start hint is not beyond avail.
//! - I3: an entry is live and in the segment order once, or dead and in the free list once.
//! - I4: isolated frames lie in one segment, and no two isolations overlap.
//! - I5: after the start, the managed frames are the available ones; before it, there are none.
//! - I6: after the start, lookups find exactly the frames that are in a segment and not isolated,
//!   each with its segment and its own descriptor.
//! - I7: after the start, every segment's descriptors are consecutive in a slab and marked used.
//! - I8: no other descriptor is marked used.
//! - I9: frames that host bookkeeping are the first ones of a segment, and not available.
//!
//! # Files
//! - `table`: the type; `config`: its parameters; `descriptor`: the trait of page descriptors.
//! - `segment`, `error`: arguments, results and refusals; `state`: a table as data; `listing`: as
//!   text.
//! - `writer`, `hold`: access under the lock; `boot`, `start`, `plug`, `host`, `unplug`: the
//!   changes; `view`: lookups.
//! - `lookup`: the trait of lookup structures; its arms: `array`, `branchless`, `tree`, `direct`,
//!   `flat`.
//! - `truth`: the data from which arms are built; `entry`: the segments; `slab`, `pages`, `making`:
//!   their descriptors; `bits`: the bitmap of used ones.
//! - `memory`, `pool`, `row`, `words`: storage; `by_address`: the tree that finds a piece's pool;
//!   `limbo`: unlinked memory that waits for a grace period.
//! - `check`: the invariants.
//!
//! # Sources
//! - NetBSD `sys/uvm/uvm_physseg.c` 1.20, `uvm_physseg.h` 1.9, `uvm_hotplug(9)` 1.6, `uvm_page.c`
//!   (`uvm_page_physget`): segments, both lookups, slabs and their scavenging, stealing at boot.
//! - Linux 6.12, `include/linux/mmzone.h`: a biased base per section, so that a descriptor's
//!   address follows from the frame number alone.
//!
//! Differences from `uvm_physseg(9)`: An overlapping plug is refused. When a segment is cut, its
//! available frames stay available; they are not widened to the edges of the remaining parts.
//! Frames count as managed from `start` on, and the count never falls below zero at boot. The
//! highest frame is the last one in every arm, and none if there is no segment. A forced steal from
//! the middle loses no frames. The last segment, and a range that is not all in one segment, are
//! refused instead of fatal.

mod array;
mod bits;
mod boot;
#[cfg(feature = "alloc")]
mod branchless;
mod by_address;
mod check;
mod config;
mod descriptor;
mod direct;
mod entry;
mod error;
#[cfg(feature = "alloc")]
mod flat;
mod hold;
mod host;
mod limbo;
mod listing;
mod lookup;
mod making;
mod memory;
mod pages;
mod plug;
mod pool;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod row;
mod segment;
mod slab;
mod start;
#[cfg(feature = "alloc")]
mod state;
mod table;
#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod tree;
mod truth;
mod unplug;
mod view;
mod words;
mod writer;

pub use array::{Array, BigFirst, BinarySearch, Contiguous, Linear, Strategy};
#[cfg(feature = "alloc")]
pub use branchless::Branchless;
pub use check::BrokenTable;
pub use config::{Config, Custom, Standard};
pub use descriptor::Descriptor;
pub use direct::Direct;
pub use error::{
    HostError, MakeError, NoMemory, PlugError, RemoveError, SetError, Stale, StaleToken,
    StartError, StealError, UnplugError,
};
#[cfg(feature = "alloc")]
pub use flat::Flat;
pub use listing::Listing;
pub use lookup::{Concurrent, Lookup};
pub use segment::{FRAME_BITS, Isolated, Node, Plug, Segment, SegmentId};
#[cfg(feature = "alloc")]
pub use state::{RestoreError, SavedFrames, SavedHandle, SavedSegment, State};
pub use table::SegmentTable;
#[cfg(feature = "alloc")]
pub use tree::Tree;
pub use view::View;
pub use writer::Segments;
