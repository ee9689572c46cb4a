//! Device addresses.
//!
//! # What it is
//! The extents of a device's address space that are reserved, in order, with what a search for a
//! gap needs to know of each subtree. The allocator itself comes on top of this.
//!
//! # Words
//! - **extent**: `start..end`, half-open; **gap**: what is free between two neighbouring extents.
//!
//! # Invariants
//! - I1: extents have `start <= last`, and no two overlap.
//! - I2: of every subtree the tree knows where it begins, where it ends, and its largest gap.
//!
//! # Files
//! - `summary`: the augmentation [`Gaps`] over [`Reserved`] extents.
//! - `growth`: memory for more nodes, obtained elsewhere.
//! - `token`, `ring`, `quarantine`: released extents that wait for a flush of the device's TLB;
//!   `tag`: whose they are.
//! - `shell`: the shared [`Domain`], with magazines.
//!
//! # Sources
//! - FreeBSD `sys/dev/iommu/iommu_gas.c`, `iommu_gas_augment_entry`: first, last and the largest
//!   gap between two entries of a subtree.
#![forbid(unsafe_code)]

mod check;
mod config;
mod counts;
mod error;
mod grant;
mod grid;
#[cfg(feature = "alloc")]
mod growth;
mod policy;
mod quarantine;
mod query;
mod random;
mod request;
mod ring;
mod runs;
mod search;
#[cfg(feature = "alloc")]
mod shell;
mod space;
mod summary;
mod tag;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod token;

pub use check::BrokenSpace;
pub use config::{Config, Custom, Standard, Storage};
pub use counts::Counts;
pub use error::{GeometryError, ReleaseError, ReserveAtError, ReserveError, Stale};
pub use grant::{Grant, Kind, Owned};
pub use policy::{Best, Highest, LOOKS, Lowest, Near, Policy};
pub use quarantine::Quarantine;
pub use query::Need;
pub use random::{ATTEMPTS, Random};
pub use request::{Guard, Request, Split};
pub use ring::{Level, TokenSlot};
pub use runs::Runs;
#[cfg(feature = "alloc")]
pub use shell::{
    BrokenDomain, CLASSES, Cpu, Domain, DomainConfig, DomainCounters, Event, Flush, NoDomain,
    NoTlb, OneCpu, Shared, Traffic,
};
use space::Tree;
#[cfg(feature = "alloc")]
pub use space::VecSpace;
pub use space::{Space, SpaceNode};
pub use summary::{GapHalf, GapSummary, Gaps, Measure, Ranged, Reserved};
pub use token::{QuarantineError, Sealed, StaleSeal, StaleToken, Token};
