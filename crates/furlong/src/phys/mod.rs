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
//! - I9: frames that host bookkeeping are the first ones of a segment, and not available; while
//!   their descriptors are dropped without the lock, no segment has them.
//!
//! # Files
//! - `config`: parameters of the type; `descriptor`: the trait of page descriptors; `segment`,
//!   `error`: arguments, results and refusals.
//! - `table`: the type, access under the lock, lookups, a table as data and as text, and the
//!   invariants.
//! - `change`: boot, plugging and unplugging.
//! - `index`: the trait of lookup structures and its arms.
//! - `storage`: memory, the arrays in it, and the descriptors.
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

mod change;
mod config;
mod descriptor;
mod error;
mod index;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod segment;
mod storage;
mod table;
#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests;

pub use config::{Config, Custom, Standard};
pub use descriptor::Descriptor;
pub use error::{
    HostError, MakeError, NoMemory, PlugError, RemoveError, SetError, Stale, StaleToken,
    StartError, StealError, UnplugError,
};
pub use index::array::{Array, BigFirst, BinarySearch, Contiguous, Linear, Strategy};
#[cfg(feature = "alloc")]
pub use index::branchless::Branchless;
pub use index::direct::Direct;
#[cfg(feature = "alloc")]
pub use index::flat::Flat;
pub use index::lookup::{Concurrent, Lookup};
#[cfg(feature = "alloc")]
pub use index::tree::Tree;
pub use segment::{FRAME_BITS, Isolated, Node, Plug, Segment, SegmentId};
pub use table::check::BrokenTable;
pub use table::listing::Listing;
pub use table::segment_table::SegmentTable;
#[cfg(feature = "alloc")]
pub use table::state::{RestoreError, SavedFrames, SavedHandle, SavedSegment, State};
pub use table::view::View;
pub use table::writer::Segments;

// Names that several modules below use.
use error::Refusal;
use index::direct::geometry::{BLOCK_FRAMES, SECTION_BITS, SECTION_FRAMES};
use index::lookup::{Arm, Change, Found, Site};
use index::snapshot::{Hidden, Snapshot};
use segment::Frames;
use storage::avl::{Avl, HIGH, LOW};
use storage::construct::{Leaving, Made, Run};
use storage::deferred::Deferred;
use storage::inline_vec::InlineVec;
use storage::memory::{Host, Memory};
use storage::pages::{Pages, Share};
use storage::pool::{Pool, Released};
use storage::raw_array::RawArray;
use storage::slab::{Slabs, is_made};
use table::entry::{All, Entry};
use table::order::{Order, above, upwards};
