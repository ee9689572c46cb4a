//! Physical segments, plugged and unplugged while others look pages up.
//!
//! # What it is
//! Which segment is this frame of, and where is its page descriptor? Every kernel asks on its
//! hottest paths. A [`SegmentTable`] answers in a nanosecond, from a table that is a `const` static
//! at boot, grows without a change of type, and whose readers never wait for a writer.
//!
//! # Words
//! - **frame**: a page of physical memory ([`Pfn`](crate::addr::Pfn)); **segment**: frames in a row
//!   with one set of properties; **descriptor**: what the user keeps about a frame.
//! - **avail**: the frames of a segment that the page allocator may have.
//! - **plug**, **unplug**: to add, to take out; **isolate**, **remove**, **abort**: the two phases
//!   of unplugging, and the way back.
//! - **boot**: the time before `start`, without descriptors; **steal**: to take a frame then.
//! - **slab**: an array of descriptors that segments share; **share**: what a segment has of it.
//! - **host**: the first frames of a range, where its own bookkeeping lies.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) of [`Segments`] walks them and names the one that
//! is broken ([`BrokenTable`]).
//! - I1: segments ascend, do not overlap, are not empty, and have frames below 2^40.
//! - I2: start <= avail start <= avail end <= end; the start hint is not beyond avail.
//! - I3: an entry is alive and in the order of segments once, or dead and in the list once.
//! - I4: isolated frames lie in one segment, and no two isolations overlap.
//! - I5: once started, the number of managed frames is that of the available ones; before, 0.
//! - I6: lookups find exactly the frames of segments that are not isolated, once started, each with
//!   its segment and its own descriptor.
//! - I7: once started, every segment's descriptors lie in a row in a slab, marked as used.
//! - I8: no other descriptor is marked as used.
//! - I9: frames that host bookkeeping are the first ones of a segment, and not available.
//!
//! # Files
//! - `table`: the type; `config`: what may differ; `descriptor`: what is kept about a frame.
//! - `segment`, `error`: what goes in, what comes out, what is refused; `state`: a table as data;
//!   `listing`: as text.
//! - `writer`, `hold`: who may change and ask; `boot`, `start`, `plug`, `host`, `unplug`: the
//!   changes; `view`: lookups.
//! - `lookup`: the seam; its arms: `array`, `branchless`, `tree`, `direct`, `flat`.
//! - `truth`: what arms are built from; `entry`: the segments; `slab`, `pages`, `making`: their
//!   descriptors; `bits`: which of them are used.
//! - `memory`, `pool`, `row`, `words`: where all that is; `by_address`: the tree in which its parts
//!   are found; `limbo`: what readers may still have.
//! - `check`: the invariants.
//!
//! # Sources
//! - NetBSD `sys/uvm/uvm_physseg.c` 1.20, `uvm_physseg.h` 1.9, `uvm_hotplug(9)` 1.6, `uvm_page.c`
//!   (`uvm_page_physget`): segments, both lookups, slabs and their scavenging, stealing at boot.
//! - Linux 6.12, `include/linux/mmzone.h`: a biased base a section, so that a frame's number is all
//!   that its descriptor's address needs.
//!
//! What differs from `uvm_physseg(9)`: a plug that overlaps is refused; what is available stays so
//! when a segment is cut, instead of being widened to the edges of what is left; frames are counted
//! as managed from `start` on, and never below zero at boot; the highest frame is the last one in
//! every arm, and none where there is no segment; a forced steal from the middle loses no frames;
//! the last segment, and a range that is not all in one segment, are refused instead of fatal.

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
