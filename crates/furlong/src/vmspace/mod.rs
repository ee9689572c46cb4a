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
//! - `space`: the type and look-ups; `config`: configuration; `check`: the invariants.
//! - `layout`, `request`: bounds and limits; requests for mappings. `error`, `errno`: errors.
//! - `area`, `bits`, `pages`, `usage`: areas and values; protections and flags; ranges of pages;
//!   counts of mapped pages.
//! - `place`: the choice of a place. `map`, `unmap`, `change`, `remap`, `brk`, `fault`, `fork`: the
//!   operations.
//! - `index`: the seam and its arms; `tree`, `gaps`: a red-black tree of areas, and its gap search;
//!   `maple_index`, `ranges`: a B-tree of areas, and its interface to the tree of ranges;
//!   `ranges_owned`, `slab`: with one owner, and records in one array; `ranges_shared`: beside
//!   readers.
//! - `shared`: a space under the caller's lock, with faults that need no lock; `hold`: the owner of
//!   a space's other state.
//! - `mode`: the seam of operations that fail in the middle.
//! - `state`: a space as data; `maps`: the format of `/proc/PID/maps`, read and written.
//! - `linux`: the numbers of system calls; `unwind`: panics of the user's code.
//!
//! # Sources
//! - Linux 6.12, `mm/mmap.c`, `mm/vma.c`, `mm/mprotect.c`, `mm/mremap.c`, `mm/madvise.c`,
//!   `arch/x86/kernel/sys_x86_64.c`: the refusals, their numbers and their order; the usable hints;
//!   the rules of merging; the limits, which differ between operations.
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
mod brk;
mod change;
mod check;
mod config;
mod errno;
mod error;
mod fault;
mod fork;
mod gaps;
mod hold;
mod index;
mod layout;
pub mod linux;
mod map;
mod maple_index;
mod maps;
mod mode;
mod pages;
mod place;
mod ranges;
mod ranges_owned;
mod ranges_shared;
mod remap;
mod request;
mod shared;
mod slab;
mod space;
mod state;
mod tree;
mod unmap;
mod unwind;
mod usage;

pub use area::{Area, Attr, Entry, Freed, Piece, Unmapped, Value};
pub use bits::{Access, Flags, Prot, RemapFlags};
pub use brk::BRK_CHANGES;
pub use change::Advice;
pub use check::BrokenSpace;
pub use config::{Config, Custom, SharedConfig, Standard};
pub use errno::Errno;
pub use error::{
    AdviseError, BrkError, FaultError, LayoutError, MapError, NoMemory, ProtectError, RemapError,
    UnmapError,
};
pub use fork::ForkError;
pub use gaps::{Gaps, Half, Summary};
pub use hold::{Hold, Lending, Own, Owned};
pub use index::{Index, Maple, Rbtree, Structure};
pub use layout::{Direction, Layout};
pub use map::MAP_CHANGES;
pub use maple_index::MapleIndex;
pub use maps::{Maps, MapsError, MapsLine, MapsLineError};
pub use mode::{Atomic, Linux, Mode};
pub use pages::Pages;
pub use ranges::{Copied, Ranges, Record};
pub use ranges_owned::OwnedRanges;
pub use remap::{REMAP_CHANGES, Remap};
pub use request::{At, Refused, Request};
pub use shared::{Glimpse, InSession, Locked, Shared};
pub use space::Space;
pub use state::{RestoreError, SavedArea, SavedLayout, State};
pub use tree::{Node, TreeIndex};
pub use unmap::UNMAP_CHANGES;
pub use usage::Usage;
