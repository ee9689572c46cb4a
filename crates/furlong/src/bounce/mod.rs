//! Bounce buffers: memory that a device can reach, for buffers that it cannot.
//!
//! # What it is
//! A pool for devices that do not reach all memory, and for confidential guests, whose devices may
//! reach none of it: a buffer is copied into the pool, the device works there, and what it has
//! written is copied back. It serves many CPUs, each of which has an area of its own; it grows on
//! demand and shrinks again; it holds each device to its limits and its quota; and it lets a device
//! see nothing but what was meant for it.
//!
//! Programs and drivers map slices, and get guards ([`Pool::map`]); kernels map physical addresses
//! ([`Pool::map_raw`]) over a [`Memory`] of their own, which also makes memory shared with a
//! hypervisor. What a pool knows is kept on the heap, or, where there is none, in memory that is
//! handed in ([`Pool::new_in`]), and [`RegionMemory`] is memory that was set aside.
//!
//! # Words
//! - **slot**: 2 KiB of bounce memory; **run**: neighbouring slots that one mapping has.
//! - **segment**: 128 slots, aligned in its area; no run crosses one, so 256 KiB is the most.
//! - **area**: the segments that a CPU asks first, a power of two of them a block. CPUs that share
//!   one, or come from another, begin in different segments of it.
//! - **block**: contiguous memory, cut into areas. The first one is there from the beginning,
//!   further ones come and go. Linux calls it a pool, hence the name of the order *pool-first*.
//! - **transient block**: one for a single mapping, where no area had room.
//! - **original**: the buffer for which a mapping stands in; **pad**: what of a run is outside the
//!   mapping, in front of it or behind.
//! - **map**, **sync**, **unmap**: to take a run and fill it, to copy one way, to give it back.
//! - **direction**: which way data goes.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`BrokenPool`]).
//! - I1: a slot of a mapping is not free.
//! - I2: a slot that is not free belongs to a mapping.
//! - I3: a run has one record, at its first slot, which describes it: data is inside the run.
//! - I4: a run lies in one segment.
//! - I5: blocks are aligned to slots and do not overlap.
//! - I6: a block without memory has no free slot.
//!
//! # Files
//! - `pool`: the type; `config`, `plan`: what may differ; `parameter`: the command line; `check`:
//!   the invariants; `state`, `claim`: a pool as data, saved, restored and claimed.
//! - `guard`: mappings of slices; `raw`: by physical address; `pointer`: by a pointer; `waiting`,
//!   `queue`: for room.
//! - `reserve`: taking runs and giving them back; `spot`: a run in somebody's hands; `growth`,
//!   `transient`: further blocks.
//! - `device`, `direction`, `need`: what a mapping asks for; `run`: where a word of slots has it.
//! - `order`, `area`: the seams, with their arms; `locked`, `lock_free`: what those of `area` are.
//! - `block`, `record`, `table`, `store`: slots, who has them, and where all that is kept.
//! - `memory`, `heap`, `region`: where memory comes from; `copy`: the only place that touches it;
//!   `zeroing`: what is overwritten.
//! - `counters`, `error`, `slot`.
//!
//! # Sources
//! - Linux 6.12 `kernel/dma/swiotlb.c`: slots, segments, areas, which runs a mapping may have
//!   (`swiotlb_search_pool_area`), offsets (`swiotlb_align_offset`), both orders of search
//!   (`swiotlb_find_slots`), transient pools, the parameter.
//!
//! What differs from Linux: free slots are a bitmap, not run lengths, so that taking and giving
//! cost the same whatever is beside them; a mapping has one record with its exact length, so that
//! no sync leaves it; pads are zeroed; nothing that CPUs share is counted; the first place is taken
//! that does, not the next one after the last; and a pool shrinks.

mod area;
mod block;
mod check;
mod claim;
mod config;
mod copy;
mod counters;
mod device;
mod direction;
mod error;
mod growth;
mod guard;
#[cfg(feature = "alloc")]
mod heap;
mod lock_free;
mod locked;
mod memory;
mod need;
mod order;
mod parameter;
mod plan;
mod pointer;
mod pool;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod queue;
mod raw;
mod record;
mod region;
mod reserve;
mod run;
mod slot;
mod spot;
#[cfg(feature = "alloc")]
mod state;
mod store;
mod table;
mod transient;
mod waiting;
mod zeroing;

pub use crate::sync::{Cpu, OneCpu};
pub use area::{Area, LockFree, Locked};
pub use check::BrokenPool;
pub use claim::{Claimed, Leak};
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Event, Off, Tally};
pub use device::{Device, Limits, LimitsError};
pub use direction::Direction;
pub use error::{GrowError, MapError, Misuse, NoPool, PoolError, StillMapped, SyncError};
pub use growth::Tended;
pub use guard::{Allocation, Both, Buffer, BufferMut, FromDevice, Mapped, ToDevice};
#[cfg(feature = "alloc")]
pub use heap::HeapMemory;
pub use memory::{Backing, Haste, Memory, NotConverted, Wanted};
pub use order::{AreaFirst, Order, PoolFirst};
pub use parameter::{Mode, Parameter, ParameterError};
pub use plan::{Access, BLOCK_MIN, Growth, Plan, PlanError};
pub use pool::Pool;
pub use queue::PASSES;
pub use raw::Back;
pub use record::Kind;
pub use region::RegionMemory;
pub use slot::{SEGMENT, SLOT};
#[cfg(feature = "alloc")]
pub use state::{NoMemory, NotSaved, RestoreError, SavedBlock, SavedMapping, State};
pub use waiting::Waiting;
pub use zeroing::{ZeroNothing, ZeroPads, ZeroUnmapped, Zeroing};
