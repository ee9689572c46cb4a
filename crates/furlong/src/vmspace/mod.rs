//! Address spaces: areas of memory that are mapped alike, and the gaps between them.
//!
//! # What it is
//! What a kernel keeps of each process: where something is mapped, with which protection, of which
//! object. [`Space`] does what `mmap`, `munmap`, `mprotect`, `mremap`, `brk`, `madvise`, `fork`,
//! `exec` and faults ask of it, and refuses what Linux refuses, number for number. It knows nothing
//! of page tables, files or processes; those are the caller's, who keeps a [`Value`] with each
//! area, says which neighbours may become one, and is handed whatever is mapped no more.
//!
//! # Words
//! - **area**: pages that follow each other and are mapped alike, with one value.
//! - **space**: the areas of one process; **layout**: where it begins and ends, and its limits.
//! - **gap**: what is free between two areas; **guard**: what stays free below an area that grows.
//! - **attributes**: protection, flags and **origin**, which gives each page its offset in the
//!   object. The origin stays when an area is cut or its ends move.
//! - **piece**: what a change takes out of an area, or all of it.
//! - **index**: what keeps the areas in order; **change**: one change of it. What an operation
//!   needs of memory is counted in changes.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`BrokenSpace`]).
//! - V1: the index holds its own.
//! - V2: areas are not empty, and no two overlap.
//! - V3: every area lies in the space and not below its lowest address.
//! - V4: no area allows what it may not allow.
//! - V5: the pages of each protection are those that were counted.
//! - V6: so are the pages of areas that grow.
//! - V7: the index knows how many areas it has.
//! - V8: the pages that a fork does not copy are those that were counted.
//!
//! # Files
//! - `space`: the type and look-ups; `config`: what may differ; `check`: the invariants.
//! - `layout`, `request`: geometry and limits; what is asked for. `error`, `errno`: what is
//!   refused.
//! - `area`, `bits`, `pages`, `usage`: areas and values; protections and flags; ranges of pages;
//!   how much is mapped.
//! - `place`: the choice of a place. `map`, `unmap`, `change`, `remap`, `brk`, `fault`, `fork`: the
//!   operations.
//! - `index`: the seam, and its arms; `tree`, `gaps`: a tree of areas, and what it knows of gaps;
//!   `maple_index`, `ranges`: a B-tree of areas, and the tree of ranges that they are in;
//!   `ranges_owned`, `slab`: of one owner, with records in one array; `ranges_shared`: beside
//!   readers.
//! - `shared`: a space under the caller's lock, and faults without it; `hold`: who has what a space
//!   knows beside its areas.
//! - `mode`: the seam of operations that fail in the middle.
//! - `state`: a space as data; `maps`: in the form of `/proc/PID/maps`, read and shown.
//! - `linux`: the numbers of system calls; `unwind`: panics of the user's code.
//!
//! # Sources
//! - Linux 6.12, `mm/mmap.c`, `mm/vma.c`, `mm/mprotect.c`, `mm/mremap.c`, `mm/madvise.c`,
//!   `arch/x86/kernel/sys_x86_64.c`: what is refused, with which number and in which order; where a
//!   hint is usable; what merges; the limits, which are not the same for every operation.
//! - Linux 6.0, `mm/mmap.c`, `vma_compute_gap`, `unmapped_area_topdown`: a red-black tree of areas
//!   with the largest gap below each.
//!
//! What differs from Linux: where several operations have begun before one fails, nothing has
//! changed unless the mode [`Linux`] says otherwise; a search with an alignment goes on to gaps
//! that are only just large enough before it gives up; the guard below a stack keeps its nearest
//! neighbour away, not whatever a first try has met; areas merge whether one of them has ever been
//! writable or not, which Linux tells apart for its accounting; and what moves keeps its offsets,
//! whether it was touched or not. Since Linux 6.17 one `mremap` may move several areas, and says of
//! several mistakes in its arguments another one first.
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
