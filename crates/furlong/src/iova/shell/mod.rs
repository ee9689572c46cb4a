//! The shared shell of a space.
//!
//! # What it is
//! [`Domain`] puts a [`Space`](crate::iova::Space) under a lock, for many CPUs, and keeps most of
//! them away from that lock: what they free goes into *magazines*, stacks of extents that a CPU
//! hands out again without the tree. And it keeps what is released out of everybody's hands until
//! the device has forgotten it.
//!
//! # Words
//! - **token**: a released extent that the device may still reach; it is **redeemed**, which frees
//!   the extent, after a flush of the device's TLB.
//! - **quarantine**: where tokens wait for a flush; to **seal** it is to say which tokens the next
//!   flush is for.
//! - **class**: a power of two of granules, up to 32; its extents start at a multiple of their
//!   length.
//! - **magazine**: a stack of freed extents of one class; **shelf**: a CPU's two of one class;
//!   **depot**: the full and the empty ones of a class that no CPU has.
//! - **part**: what a CPU has of a domain, under a lock of its own.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`BrokenDomain`]).
//! - D1: the space holds its own.
//! - D2: what is in a magazine or in quarantine is reserved in the tree, by the node that is noted
//!   beside it.
//! - D3: no extent is in magazines or in quarantine twice.
//! - D4: an extent in a magazine starts at a multiple of its length.
//! - D5: a depot has at most [`DomainConfig::DEPOT`] magazines, each of them full or empty, and
//!   knows which.
//! - D6: tokens issued and not redeemed are at least those in quarantine.
//! - D7: a token is freed only after a flush that began when it had been released. The tests hold
//!   this one; nothing that could be walked shows it.
//!
//! # Files
//! - `domain`: the type, its configuration, what it tells; `reservation`, `redemption`, `drain`:
//!   its operations.
//! - `class`: size classes and the requests that they serve; `magazine`, `depot`: where their
//!   extents lie.
//! - `cpu`: a CPU's part; `handful`: tokens between two locks; `flush`: the device's TLB.
//! - `traffic`: counters; `check`: the invariants.
//!
//! # Sources
//! - J. Bonwick, J. Adams, "Magazines and Vmem: Extending the Slab Allocator to Many CPUs and
//!   Arbitrary Resources", USENIX 2001: two magazines a CPU, and the depot.
//! - Linux `drivers/iommu/iova.c`, `__iova_rcache_insert`, `__iova_rcache_get`: six classes, 127
//!   rounds, a depot of 32 magazines (until 2023), pops that respect a limit.
//! - Linux `drivers/iommu/dma-iommu.c`, `queue_iova`: 256 released ranges a CPU wait for one flush.
//!
//! What differs from Linux: an extent's node is noted beside it, so nothing is searched for when it
//! goes back to the tree; a request that its class has no room for is tried as it is; the depot
//! keeps empty magazines too; and a release names its extent by a grant, whose class cannot differ
//! from the one that was reserved.
#![forbid(unsafe_code)]

mod check;
mod class;
mod cpu;
mod depot;
mod domain;
mod drain;
mod flush;
mod handful;
mod magazine;
mod redemption;
mod reservation;
mod traffic;

pub use check::BrokenDomain;
pub use class::CLASSES;
pub use domain::{Domain, DomainConfig, NoDomain, Shared};
pub use flush::{Flush, NoTlb};
pub use traffic::{DomainCounters, Event, Traffic};

pub use crate::sync::{Cpu, OneCpu};
