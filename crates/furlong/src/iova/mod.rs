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
//! 3. [`Domain`]: all of it behind the caller's lock, with magazines of freed extents for each CPU,
//!    and a quarantine. A released extent cannot be reserved again until the device's TLB has been
//!    flushed and its [`Token`] redeemed. Grants that were [given up](Domain::disown) are released
//!    by their addresses.
//!
//! An IOTLB, values at extents, is a [`Maple<Iova, T>`](crate::maple::Maple).
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
//! - `config`: the type parameters of a space; `request`, `grant`, `error`: input, output and
//!   refusals.
//! - `space`: the type and its operations, a space as data, and the invariants.
//! - `search`: the descent to a gap, the choice among places, and the measures of gaps.
//! - `quarantine`: released extents that wait for a flush of the device's TLB.
//! - `domain`: the shared [`Domain`], with magazines.
//!
//! # Sources
//! - FreeBSD `sys/dev/iommu/iommu_gas.c` (stable/14): the summary of a subtree, constraints,
//!   guards, the order in which zones are searched, splitting at a boundary.
//!   `iommu_gas_find_space`, `iommu_gas_match_one`.
//! - Linux `drivers/iommu/iova.c`, and the discussion of May and June 2026 about its search. A
//!   limit or an alignment alone defeats a search that prunes by the size of the largest gap.
#![forbid(unsafe_code)]

mod config;
#[cfg(feature = "alloc")]
mod domain;
mod error;
mod grant;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod quarantine;
mod request;
mod search;
mod space;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use config::{Config, Custom, Standard, Storage};
#[cfg(feature = "alloc")]
pub use domain::{
    BrokenDomain, CLASSES, Cpu, Domain, DomainConfig, DomainCounters, Event, Flush, NoDomain,
    NoTlb, OneCpu, Shared, Traffic,
};
pub use error::{ExtendError, GeometryError, ReleaseError, ReserveAtError, ReserveError, Stale};
pub use grant::{Grant, Kind, Owned};
#[cfg(feature = "alloc")]
pub use quarantine::ring::Level;
#[cfg(feature = "alloc")]
pub use quarantine::token::{Sealed, StaleSeal, StaleToken, Token};
pub use request::{Guard, Request, Split};
pub use search::boundary::Boundary;
pub use search::counts::Counts;
pub use search::policy::{Best, Highest, LOOKS, Lowest, Near, PATIENCE, Policy, Sided};
pub use search::query::Need;
pub use search::random::{ATTEMPTS, Random};
pub use search::runs::Runs;
pub use search::summary::{GapHalf, GapSummary, Gaps, Largest, LargestHalves, Measure, Reserved};
#[cfg(feature = "alloc")]
pub use space::allocator::{ChunkSpace, VecSpace};
pub use space::allocator::{Space, SpaceNode};
pub use space::check::BrokenSpace;
pub use space::claim::ClaimError;
pub use space::range::{
    Kept, NotReleased, PartError, RELEASE_RANGE_NODES, RESERVE_NODES, RangeError,
};
#[cfg(feature = "alloc")]
pub use space::state::{RestoreError, SavedExtent, State};
