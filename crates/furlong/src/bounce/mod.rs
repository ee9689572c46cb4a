//! Bounce buffers: memory that a device can access, for buffers that it cannot.
//!
//! # What it is
//! A pool of buffers for devices that do not reach all memory, and for confidential guests, whose
//! devices may reach none of it. A buffer is copied into the pool, the device works there, and its
//! writes are copied back. Each of many CPUs has an area of its own. The pool grows on demand and
//! shrinks again. It enforces each device's limits and quota, and lets a device see only data that
//! is meant for it.
//!
//! Programs and drivers map slices, and get guards ([`Pool::map`]). Kernels map physical addresses
//! ([`Pool::map_raw`]) over a [`Memory`] of their own, which can also share memory with a
//! hypervisor. The pool's bookkeeping is on the heap, or, without a heap, in memory from the caller
//! ([`Pool::new_in`]). [`RegionMemory`] is a source of reserved memory.
//!
//! # Words
//! - **slot**: 2 KiB of bounce memory; **run**: consecutive slots of one mapping.
//! - **segment**: 128 slots, aligned in its area. No run crosses one, so 256 KiB is the maximum.
//! - **area**: the segments that a CPU searches first; a block has a power of two of areas. CPUs
//!   that share one, or come from another, begin in different segments of it.
//! - **block**: contiguous memory, cut into areas. The first one exists from the beginning, further
//!   ones come and go. Linux calls it a pool, hence the name of the order *pool-first*.
//! - **transient block**: one for a single mapping, if no area had room.
//! - **original**: the buffer that a mapping replaces; **pad**: the bytes of a run before and after
//!   the mapping.
//! - **map**, **sync**, **unmap**: to take a run and fill it, to copy one way, to free it.
//! - **direction**: to the device, from it, or both.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the broken one
//! ([`BrokenPool`]).
//! - I1: a slot of a mapping is not free.
//! - I2: a slot that is not free belongs to a mapping.
//! - I3: a run has one record, at its first slot, which describes it: data is inside the run.
//! - I4: a run lies in one segment.
//! - I5: blocks are aligned to slots and do not overlap.
//! - I6: a block without memory has no free slot.
//!
//! # Files
//! - `pool`: the type; `config`, `plan`: its parameters; `parameter`: the command line; `check`:
//!   the invariants; `state`, `claim`: a pool as data, saved, restored and claimed.
//! - `guard`: mappings of slices; `raw`: by physical address; `pointer`: by a pointer; `waiting`,
//!   `queue`: waiting for room.
//! - `reserve`: taking and freeing runs; `spot`: a run that is taken; `growth`, `transient`:
//!   further blocks.
//! - `device`, `direction`, `need`: a mapping's requirements; `run`: runs in a word of slots.
//! - `order`, `area`: traits with several implementations; `locked`, `lock_free`: those of `area`.
//! - `block`, `record`, `table`, `store`: slots, their mappings, and the storage of both.
//! - `memory`, `heap`, `region`: sources of memory; `copy`: the only code that accesses it;
//!   `zeroing`: the policy for overwriting it.
//! - `counters`, `error`, `slot`.
//!
//! # Sources
//! - Linux 6.12 `kernel/dma/swiotlb.c`: slots, segments, areas, the runs that a mapping may have
//!   (`swiotlb_search_pool_area`), offsets (`swiotlb_align_offset`), both orders of search
//!   (`swiotlb_find_slots`), transient pools, the parameter.
//!
//! Differences from Linux: Free slots are a bitmap, not run lengths, so the cost of map and unmap
//! does not depend on neighbouring slots. A mapping has one record with its exact length, so no
//! sync leaves it. Pads are zeroed. CPUs share no counters. A search takes the first run that fits,
//! not the next one after the last. The pool shrinks.

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
