//! Address spaces: areas of memory with the same mapping, and the gaps between them.
//!
//! # What it is
//! A kernel's record of the address space of a process: the mapped ranges, their protections and
//! their objects. [`Space`] implements the bookkeeping of `mmap`, `munmap`, `mprotect`, `mremap`,
//! `brk`, `madvise`, `fork`, `exec` and faults. It refuses the same calls as Linux, with the same
//! error numbers. Page tables, files and processes belong to the caller. The caller keeps a
//! [`Value`] with each area, decides which neighbours may merge, and gets every unmapped range
//! back.
//!
//! # Words
//! - **area**: consecutive pages with the same mapping, and one value.
//! - **space**: the areas of one process. **layout**: its bounds and limits.
//! - **gap**: the free pages between two areas. **guard**: the pages that stay free below an area
//!   that grows.
//! - **attributes**: protection, flags and **origin**. The origin gives each page its offset in the
//!   object, and stays when an area is cut or its ends move.
//! - **piece**: a part of an area, or a whole one, that a change removes.
//! - **index**: the ordered set of areas. **change**: one change of the index. The memory that an
//!   operation needs is counted in changes.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) verifies these and names a broken one
//! ([`BrokenSpace`]).
//! - V1: the index keeps its own invariants.
//! - V2: areas are not empty, and no two overlap.
//! - V3: every area lies in the space, and not below its lowest address.
//! - V4: no area allows an access that it may not allow.
//! - V5: the counts of pages by protection are right.
//! - V6: the count of pages in areas that grow is right.
//! - V7: the number of areas in the index is right.
//! - V8: the count of pages that a fork does not copy is right.
//!
//! # Files
//! - `config`: configuration. `error`, `errno`: errors.
//! - `area`, `bits`, `pages`: areas and values; protections and flags; ranges of pages.
//! - `space`: the type and look-ups, its bounds, its shared form, and the invariants.
//! - `operation`: requests, the choice of a place, and the operations.
//! - `index`: the seam of the ordered set of areas, and its two arms.
//! - `linux`: the numbers of system calls.
//!
//! # Sources
//! - Linux 6.12, `mm/mmap.c`, `mm/vma.c`, `mm/mprotect.c`, `mm/mremap.c`, `mm/madvise.c`,
//!   `arch/x86/kernel/sys_x86_64.c`: the refusals, their numbers and their order; the usable hints;
//!   the rules of merging; the limits, which differ between operations. Also `MAP_DROPPABLE` of
//!   6.11.
//! - Linux 6.0, `mm/mmap.c`, `vma_compute_gap`, `unmapped_area_topdown`: a red-black tree of areas
//!   with the largest gap below each.
//!
//! Differences from Linux:
//! - If an operation fails after its first steps, nothing has changed, unless the mode is
//!   [`Linux`].
//! - A search with an alignment also tries gaps that are only just large enough before it fails.
//! - The guard below a stack applies to its nearest neighbour, not to the one that a first try met.
//! - Areas merge even if only one of them was ever writable. Linux separates these for accounting.
//! - Moved memory keeps its offsets, touched or not.
//! - Since Linux 6.17 one `mremap` may move several areas, and it checks its arguments in another
//!   order.
#![deny(unsafe_code)]

mod area;
mod bits;
mod config;
mod errno;
mod error;
mod index;
pub mod linux;
mod operation;
mod pages;
mod space;

pub use area::{Area, Attr, Entry, Freed, Piece, Unmapped, Value};
pub use bits::{Access, Flags, Prot, RemapFlags};
pub use config::{Config, Custom, SharedConfig, Standard};
pub use errno::Errno;
pub use error::{
    AdviseError, BrkError, FaultError, LayoutError, MapError, NoMemory, ProtectError, RemapError,
    UnmapError, UpdateError,
};
pub use index::contract::{Index, Maple, Rbtree, Structure};
pub use index::gaps::{Gaps, Half, Summary};
pub use index::maple_index::MapleIndex;
pub use index::ranges::{Copied, Ranges, Record};
pub use index::ranges_owned::OwnedRanges;
pub use index::tree::{Node, TreeIndex};
pub use operation::brk::BRK_CHANGES;
pub use operation::change::Advice;
pub use operation::fork::ForkError;
pub use operation::map::MAP_CHANGES;
pub use operation::mode::{Atomic, Linux, Mode};
pub use operation::remap::{REMAP_CHANGES, Remap};
pub use operation::request::{At, Refused, Request};
pub use operation::unmap::UNMAP_CHANGES;
pub use pages::Pages;
pub use space::address_space::Space;
pub use space::check::BrokenSpace;
pub use space::hold::{Hold, Lending, Own, Owned};
pub use space::layout::{Direction, Layout};
pub use space::shared::{Glimpse, InSession, Locked, Shared};
pub use space::state::{RestoreError, SavedArea, SavedLayout, State};
pub use space::usage::Usage;

// Names that several modules below use.
use index::maple_index::CHANGE_RECORDS;
use index::ranges::entry;
use index::ranges_shared::{Boxed, Seen, blank_record, seen_entry};
use space::address_space::unmapped;
use space::unwind::hand_out;
