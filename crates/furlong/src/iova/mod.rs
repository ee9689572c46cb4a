//! Device addresses: which are reserved, and where there is room for more.
//!
//! # What it is
//! The allocator of a device's address space, for IOMMU drivers, hypervisors that place memory and
//! registers in a guest's space, and drivers in user space. It finds a gap for any size under any
//! window in O(log n), aligned to its size or not, places it low, high, near a hint, in the
//! smallest gap or at random, and takes the constraints of a bus: alignment, offset, excluded
//! addresses, boundaries, guards.
//!
//! It comes in layers that can be taken one by one:
//! 1. [`Space`]: which extents are reserved. `&mut self`, no lock, no knowledge of any device.
//! 2. [`Space::prepare`]: the part of a reservation that may fail for memory, done beforehand; or
//!    [`VecSpace::grow_into`] and [`ChunkSpace::grow_with`], memory that was obtained before a
//!    lock was taken. A reservation takes one node, a release none, a release of a part of an
//!    extent one.
//! 3. [`Token`], [`Quarantine`]: a released extent is nobody's until the device's TLB has been
//!    flushed; then its token is redeemed.
//! 4. [`Domain`]: all of it behind the caller's lock, with magazines of freed extents for each CPU.
//!
//! # Words
//! - **granule**: the smallest unit that a space hands out, a power of two of bytes. All that is
//!   inside is counted in granules, all that is outside in bytes ([`Iova`](crate::addr::Iova)).
//! - **extent**: `start..=last`; **gap**: what is free between two neighbouring extents.
//! - **request**: a size and where it may lie; **grant**: what it was given, to be released once.
//! - **window**, **exclusion**: where data may lie at all; **boundary**: what it may not cross.
//! - **guard**: granules beside a grant that are free when it is made, and that neighbours share.
//! - **measure**: what a node knows of the gaps below it: the largest one and its largest block, or
//!   more ([`Runs`], [`Boundary`], [`Counts`]).
//! - **near**, **far**: the search is written once, towards lower or higher addresses.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`BrokenSpace`]).
//! - I1: extents have `start <= last`, and no two overlap.
//! - I2: the tree is in order, and of every subtree it knows where it begins, where it ends, and
//!   the measure of its gaps.
//! - I3: every extent lies in the space.
//! - I4: a node is in the tree or, once, in the list of free nodes.
//! - I5: the ends that the space remembers are the first and the last node.
//!
//! Where code of the user's panics in a change, I4, I5 and the measures of I2 are left to the
//! [next change](Space::recover), and `check` does not ask for them.
//!
//! # Files
//! - `space`: the type and its operations; `config`: what may differ; `check`: the invariants.
//! - `request`, `grant`, `error`: what goes in, what comes out, what is refused.
//! - `query`: a request in granules; `grid`: where alignment and boundary let it start.
//! - `search`: the descent to a gap; `policy`: the choice among places; `random`: an even one.
//! - `summary`: the augmentation [`Gaps`] and the default measure; `runs`, `boundary`, `counts`:
//!   three more.
//! - `range`, `fixed`: what is free or reserved in a range, filled and released; firmware's
//!   regions.
//! - `state`, `claim`: a space as data, saved and restored; who claims what is in it.
//! - `map`: an IOTLB, values at extents.
//! - `spare`: nodes that are free; `growth`: memory for more of them, obtained elsewhere;
//!   `recover`: what a panic of the user's code has left.
//! - `token`, `ring`, `quarantine`: released extents that wait for a flush of the device's TLB;
//!   `tag`: whose they are.
//! - `shell`: the shared [`Domain`], with magazines.
//!
//! # Sources
//! - FreeBSD `sys/dev/iommu/iommu_gas.c` (stable/14): the summary of a subtree, constraints,
//!   guards, the order in which zones are searched, splitting at a boundary.
//!   `iommu_gas_find_space`, `iommu_gas_match_one`.
//! - Linux `drivers/iommu/iova.c`, and the discussion of May and June 2026 about its search: a
//!   limit and an alignment each defeat a search by the largest gap that prunes by size alone.
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
