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
//! - `config`, `counters`, `error`: configuration, work counters, refusals. `slot`: the unit.
//! - `pool`: the type, its size, its blocks, and a pool as data; the invariants.
//! - `area`: the free slots that some CPUs share, and the search in them.
//! - `mapping`: mappings, their requirements, and waiting for room.
//! - `memory`: sources of memory, access to it, and the storage of tables.
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
mod config;
mod counters;
mod error;
mod mapping;
mod memory;
mod pool;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod slot;

pub use crate::sync::{Cpu, OneCpu};
pub use area::contract::{Area, LockFree, Locked};
pub use area::order::{AreaFirst, Order, PoolFirst};
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Event, Off, Tally};
pub use error::{GrowError, MapError, Misuse, NoPool, PoolError, StillMapped, SyncError};
pub use mapping::device::{Device, Limits, LimitsError};
pub use mapping::direction::Direction;
pub use mapping::guard::{Allocation, Both, Buffer, BufferMut, FromDevice, Mapped, ToDevice};
pub use mapping::queue::PASSES;
pub use mapping::raw::Back;
pub use mapping::record::Kind;
pub use mapping::waiting::Waiting;
#[cfg(feature = "alloc")]
pub use memory::heap::HeapMemory;
pub use memory::region::RegionMemory;
pub use memory::source::{Backing, Haste, Memory, NotConverted, Wanted};
pub use memory::zeroing::{ZeroNothing, ZeroPads, ZeroUnmapped, Zeroing};
pub use pool::bounce_pool::Pool;
pub use pool::check::BrokenPool;
pub use pool::claim::{Claimed, Leak};
pub use pool::growth::Tended;
pub use pool::parameter::{Mode, Parameter, ParameterError};
pub use pool::plan::{Access, BLOCK_MIN, Growth, Plan, PlanError};
#[cfg(feature = "alloc")]
pub use pool::state::{NoMemory, NotSaved, RestoreError, SavedBlock, SavedMapping, State};
pub use slot::{SEGMENT, SLOT};

// Names that several modules below use.
use area::contract::sealed::Slots;
use area::contract::{Pass, Shape, Taken};
use area::need::{Need, NoRun};
use area::run::{bits, low_bits};
use mapping::queue::Queue;
use mapping::record::{Book, Entry};
use mapping::reserve::OnDrop;
use memory::copy::Run;
use memory::store::{Row, Store};
use memory::table::Table;
use pool::block::{Answer, Block, segment};
use pool::transient::Transient;
use slot::{SLOT_SHIFT, slots_of};
