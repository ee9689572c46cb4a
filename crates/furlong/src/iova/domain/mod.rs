//! The shared form of a space: an allocator of a device's addresses for many CPUs.
//!
//! # What it is
//! [`Domain`] puts a [`Space`](crate::iova::Space) under a lock, for many CPUs, and keeps most
//! operations away from that lock. Freed extents go into *magazines*, stacks of extents from which
//! a CPU reserves again without the tree. Released extents cannot be reserved until the device's
//! TLB has been flushed.
//!
//! # Words
//! - **token**: a released extent that the device may still reach; it is **redeemed**, which frees
//!   the extent, after a flush of the device's TLB.
//! - **quarantine**: a queue of tokens that wait for a flush; to **seal** it is to fix the tokens
//!   that the next flush covers.
//! - **class**: a power of two of granules, up to 32; its extents start at a multiple of their
//!   length.
//! - **magazine**: a stack of freed extents of one class; **shelf**: a CPU's two magazines of one
//!   class; **depot**: the full and the empty magazines of a class that no CPU holds.
//! - **per-CPU data**: a CPU's share of a domain, under a lock of its own.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) verifies them and returns the broken one
//! ([`BrokenDomain`]).
//! - D1: the invariants of the space hold.
//! - D2: an extent in a magazine or in quarantine is reserved in the tree, by the node recorded
//!   with it.
//! - D3: no extent is in magazines or in quarantine twice.
//! - D4: an extent in a magazine starts at a multiple of its length.
//! - D5: a depot has at most [`DomainConfig::DEPOT`] magazines, and each is on the stack of full
//!   ones or of empty ones that it belongs to.
//! - D6: at least as many tokens are outstanding (issued and not redeemed) as are in quarantine.
//! - D7: a token is redeemed only after a flush that began after its release. `check` cannot see
//!   this one; tests cover it.
//!
//! # Files
//! - `shared_space`: the type, its configuration, its statistics; `reservation`, `release`,
//!   `by_address`, `drain`: its operations.
//! - `class`: size classes and the requests that they serve; `magazine`, `depot`: storage of their
//!   extents.
//! - `per_cpu`: a CPU's data, and batches of tokens between two locks; `flush`: the device's TLB.
//! - `traffic`: counters; `check`: the invariants.
//!
//! # Sources
//! - J. Bonwick, J. Adams, "Magazines and Vmem: Extending the Slab Allocator to Many CPUs and
//!   Arbitrary Resources", USENIX 2001: two magazines a CPU, and the depot.
//! - Linux `drivers/iommu/iova.c`, `__iova_rcache_insert`, `__iova_rcache_get`: six classes, 127
//!   rounds, a depot of 32 magazines (until 2023), pops that respect a limit.
//! - Linux `drivers/iommu/dma-iommu.c`, `queue_iova`: 256 released ranges a CPU wait for one flush.
//!
//! Differences from Linux: an extent's node is recorded with it, so its return to the tree needs no
//! search. A request that does not fit at its class's size is retried at its own size. The depot
//! keeps empty magazines too. A release takes a grant, whose class always equals the one that was
//! reserved.

mod by_address;
mod check;
mod class;
mod depot;
mod drain;
mod flush;
mod magazine;
mod per_cpu;
mod release;
mod reservation;
mod shared_space;
mod traffic;

pub use check::BrokenDomain;
pub use class::CLASSES;
pub use flush::{Flush, NoTlb};
pub use shared_space::{Domain, DomainConfig, NoDomain, Shared};
pub use traffic::{DomainCounters, Event, Traffic};

pub use crate::sync::{Cpu, OneCpu};
