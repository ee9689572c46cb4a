//! Allocator of device addresses: tracks the reserved extents and finds gaps for new ones.
//!
//! # What it is
//! The allocator of a device's address space. Its users are IOMMU drivers, hypervisors that place
//! memory and registers in a guest's space, and drivers in user space. It finds a gap for any size
//! and window in O(log n), aligned to its size or not. It places a grant low, high, near a hint, in
//! the smallest gap or at random. It honours the constraints of a bus: alignment, offset, excluded
//! addresses, boundaries and guards.
//!
//! It comes in layers, each usable without the next:
//! 1. [`Space`]: the set of reserved extents. `&mut self`, no lock, no knowledge of any device.
//! 2. [`Space::prepare`]: does the part of a reservation that may fail for lack of memory
//!    beforehand. Alternatively [`VecSpace::grow_into`] and [`ChunkSpace::grow_with`] take memory
//!    that was obtained before a lock was taken. A reservation takes one node, a release none, a
//!    release of a part of an extent one.
//! 3. [`Token`], [`Quarantine`]: a released extent cannot be reserved again until the device's TLB
//!    has been flushed and its token redeemed.
//! 4. [`Domain`]: all of it behind the caller's lock, with magazines of freed extents for each CPU.
//!
//! # Words
//! - **granule**: the smallest unit that a space hands out, a power of two of bytes. The code
//!   inside counts in granules, the public interface in bytes ([`Iova`](crate::addr::Iova)).
//! - **extent**: `start..=last`; **gap**: free granules between two neighbouring extents.
//! - **request**: a size and its placement constraints; **grant**: the result, to be released once.
//! - **window**, **exclusion**: the addresses that data may and may not use; **boundary**: an
//!   address multiple that data may not cross.
//! - **guard**: granules beside a grant that are free when it is made. Neighbours share them.
//! - **measure**: the summary of the gaps below a node: the largest gap and its largest block, or
//!   more ([`Runs`], [`Boundary`], [`Counts`]).
//! - **near**, **far**: the two sides of a search, which is written once for both directions.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) verifies them and returns the broken one
//! ([`BrokenSpace`]).
//! - I1: extents have `start <= last`, and no two overlap.
//! - I2: the tree is ordered, and each subtree's summary holds its first address, its last address
//!   and the measure of its gaps.
//! - I3: every extent lies in the space.
//! - I4: a node is in the tree or, once, in the list of free nodes.
//! - I5: the cached `ends` are the first and the last node.
//!
//! If user code panics during a change, I4, I5 and the measures of I2 stay broken until the [next
//! change](Space::recover) repairs them. `check` skips them meanwhile.
//!
//! # Files
//! - `space`: the type and its operations; `config`: its type parameters; `check`: the invariants.
//! - `request`, `grant`, `error`: input, output and refusals.
//! - `query`: a request in granules; `grid`: the starts that alignment and boundary permit.
//! - `search`: the descent to a gap; `policy`: the choice among places; `random`: a uniform choice.
//! - `summary`: the augmentation [`Gaps`] and the default measure; `runs`, `boundary`, `counts`:
//!   three more measures.
//! - `range`, `fixed`: free and reserved parts of a range, filled and released; firmware regions.
//! - `state`, `claim`: a space as data, saved and restored; claiming restored extents.
//! - `map`: an IOTLB, values at extents.
//! - `spare`: the free list of nodes; `growth`: memory for more nodes, obtained elsewhere;
//!   `recover`: repair after a panic of user code.
//! - `token`, `ring`, `quarantine`: released extents that wait for a flush of the device's TLB;
//!   `tag`: identity of the owner.
//! - `shell`: the shared [`Domain`], with magazines.
//!
//! # Sources
//! - FreeBSD `sys/dev/iommu/iommu_gas.c` (stable/14): the summary of a subtree, constraints,
//!   guards, the order in which zones are searched, splitting at a boundary.
//!   `iommu_gas_find_space`, `iommu_gas_match_one`.
//! - Linux `drivers/iommu/iova.c`, and the discussion of May and June 2026 about its search. A
//!   limit or an alignment alone defeats a search that prunes by the size of the largest gap.
#![forbid(unsafe_code)]

mod boundary;
mod check;
mod claim;
mod config;
mod counts;
mod error;
mod fixed;
mod grant;
mod grid;
#[cfg(feature = "alloc")]
mod growth;
mod map;
mod policy;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod quarantine;
mod query;
mod random;
mod range;
mod recover;
mod request;
mod ring;
mod runs;
mod search;
#[cfg(feature = "alloc")]
mod shell;
mod space;
mod spare;
#[cfg(feature = "alloc")]
mod state;
mod summary;
mod tag;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod token;

pub use boundary::Boundary;
pub use check::BrokenSpace;
pub use claim::ClaimError;
pub use config::{Config, Custom, Standard, Storage};
pub use counts::Counts;
pub use error::{GeometryError, ReleaseError, ReserveAtError, ReserveError, Stale};
pub use grant::{Grant, Kind, Owned};
#[cfg(feature = "alloc")]
pub use map::VecMap;
pub use map::{
    BrokenMap, CUT_RANGE_NODES, Entries, Entry, Hint, InsertError, Map, MapNode, RemoveError,
    Straddles,
};
pub use policy::{Best, Highest, LOOKS, Lowest, Near, PATIENCE, Policy, Sided};
pub use quarantine::Quarantine;
pub use query::Need;
pub use random::{ATTEMPTS, Random};
pub use range::{Kept, NotReleased, PartError, RELEASE_RANGE_NODES, RESERVE_NODES, RangeError};
pub use request::{Guard, Request, Split};
pub use ring::{Level, TokenSlot};
pub use runs::Runs;
#[cfg(feature = "alloc")]
pub use shell::{
    BrokenDomain, CLASSES, Cpu, Domain, DomainConfig, DomainCounters, Event, Flush, NoDomain,
    NoTlb, OneCpu, Shared, Traffic,
};
#[cfg(feature = "alloc")]
pub use space::{ChunkSpace, VecSpace};
pub use space::{Space, SpaceNode};
#[cfg(feature = "alloc")]
pub use state::{RestoreError, SavedExtent, State};
pub use summary::{GapHalf, GapSummary, Gaps, Measure, Ranged, Reserved};
pub use token::{QuarantineError, Sealed, StaleSeal, StaleToken, Token};
