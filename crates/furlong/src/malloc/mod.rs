//! A general-purpose allocator, for processes and for kernels.
//!
//! # What it is
//! A [`Malloc`] in a static serves all threads of a program, or all processors of a kernel. Below
//! it is a [`PageSource`], which supplies pages. Beside it is a [`CurrentHeap`], which finds the
//! caller's heap. The library itself needs neither an operating system nor thread-local storage.
//!
//! Three properties are chosen by type ([`Config`]): the checks against misuse ([`Hardening`]),
//! inlining of the gates ([`Gate`]), and the point at which the policy is read ([`Tier`]). The
//! limits on kept memory are data ([`Profile`]).
//!
//! - **In a Rust program**: [`Global`] and [`thread_heap`]; with the feature `allocator-api2` also
//!   for single collections. See `examples/malloc.rs`.
//! - **In any program**: `LD_PRELOAD` a library of `furlong-preload`. Environment variables set the
//!   profile (`FURLONG_MALLOC_PROFILE=conservative`), prefaulting (`FURLONG_MALLOC_PREFAULT=1`),
//!   the purge delay (`FURLONG_MALLOC_PURGE_DELAY_MS`, 1000 by default) and statistics at exit
//!   (`FURLONG_MALLOC_STATISTICS=1`).
//! - **In a kernel**: implement two traits, [`PageSource`] and [`CurrentHeap`]. The example of the
//!   latter is complete.
//! - **For one purpose**: a [`Zone`] is a private heap that is freed as a whole. An [`ObjectCache`]
//!   holds objects of one type, with reserves that cannot fail.
//!
//! Blocks have no header, and free blocks contain no links. All metadata lies outside the blocks,
//! so a stray write by the program cannot make the allocator hand out wrong memory.
//!
//! # Words
//! - **gate**: the entry of allocate and free. Anything that it does not do itself takes a *slow
//!   way*.
//! - **unit**: 64 KiB, aligned; **arena**: 64 units, aligned, mapped at once.
//! - **size class**: a size to which requests are rounded up; **span**: units cut into blocks of
//!   one class; **large object**: a run of units of its own; **huge object**: a mapping of its own.
//! - **heap**: the state of one thread: a stack of free blocks for each class, and spans. A span's
//!   *owner* is its heap.
//! - **carved**: handed to a heap at least once. Blocks beyond the carved ones were never touched.
//! - **remote free**: a free by a thread other than the owner's. The block is *sent*, then *posted*
//!   with others, up to 64 blocks (one word) at a time; the owner *collects* them.
//! - **zone**: a heap that belongs to no thread, with all that is allocated from it.
//! - **ended**: a heap whose thread has exited. A new thread takes over the whole heap; a running
//!   heap *adopts* spans of it.
//! - **dirty**: units that are free and may be non-zero; to *purge* is to let the system take their
//!   contents. Units that are dirty in two successive **rounds**, half the delay apart, are *idle*
//!   and are purged.
//! - **aside**: full chunks of a class, set aside until its stack is empty.
//! - **mark**: a per-process secret in the first word of free blocks. A free of a block with the
//!   mark may be a double free; the records confirm it before the program is stopped.
//!
//! # Invariants
//! [`Malloc::check`] checks them and names the broken one ([`BrokenMalloc`]).
//! - I1: each unit of an arena is free, in use, or on its way to the system, and its record says
//!   whether it is in use.
//! - I2: dirty units are free, and idle units are dirty; the pool's counts of used and dirty units
//!   are right.
//! - I3: the bits of a span's words are its free blocks; the summary names the non-zero words; the
//!   free count equals the number of bits; all free blocks are carved.
//! - I4: a finished span is in its owner's list of its class exactly if it has blocks left to give.
//! - I5: a block in a stack is of a span of that class and that heap, and not free in its span.
//!
//! Lock order: a heap's latch before the pool's; a second heap's latch is only tried. No latch is
//! held while the system maps or takes memory, or while a page is touched for the first time.
//!
//! # Files
//! - `allocator`: the gates; `refill`: the slow ways; `resize`; `large`, `kept`: objects above the
//!   size classes.
//! - `class`, `span`, `spans`, `arena`, `units`, `map`, `grow`: sizes, records, the lookup of a
//!   record by address, and the making and retiring of spans and arenas.
//! - `heap`, `own`, `heaps`, `stack`: heaps, their beginning and end, and the free blocks that they
//!   keep.
//! - `remote`, `outgoing`: frees by other threads; `group`: freed blocks of one word; `exchange`:
//!   all interaction between heaps, which loom explores.
//! - `pool`: shared state; `purge`: memory that returns to the system; `fork`: support for `fork`;
//!   `latch`, `field`: the building blocks of records.
//! - `config`, `policy`, `hardening`, `seal`, `gate`, `tier`: configuration; `source`, `system`,
//!   `current`, `linux` and its `latch`, `thread`: the environment below; `block`: access to the
//!   memory of blocks.
//! - `zone`, `cache`: private heaps, and caches of one type.
//! - `global`, `api2`: Rust's allocator traits; `check`, `stats`: the invariants, and the memory in
//!   use.
//!
//! # Sources
//! - mimalloc 2.4 and 3.4 (`page.c`, `segment.c`): a static that stands for a missing heap; spans
//!   of one class; a map instead of aligned segments.
//! - rpmalloc 2.0 (`rpmalloc.c`): list heads in the heap, sixteen-byte classes up to 1 KiB.
//! - jemalloc 5.3 (`tcache`, `bin.c`): stacks of pointers by class, bitmaps by span.
//! - snmalloc 0.7: remote frees in batches to their owner.
//! - D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation" (2019): the test for a
//!   block's start by one multiplication.

mod allocator;
#[cfg(feature = "allocator-api2")]
mod api2;
mod arena;
mod block;
mod cache;
mod check;
mod class;
mod config;
mod current;
mod exchange;
mod field;
mod fork;
mod gate;
mod global;
mod group;
mod grow;
mod hardening;
mod heap;
mod heaps;
mod kept;
mod large;
mod latch;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod linux;
mod map;
mod outgoing;
mod own;
mod policy;
mod pool;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod purge;
mod refill;
mod remote;
mod resize;
mod seal;
mod source;
mod span;
mod spans;
mod stack;
mod stats;
mod system;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod tests;
#[cfg(feature = "std")]
mod thread;
mod tier;
mod units;
mod zone;

pub use allocator::Malloc;
pub use cache::{Object, ObjectCache, Reserve};
pub use check::BrokenMalloc;
pub use config::Config;
pub use current::CurrentHeap;
pub use gate::{Gate, Inlined, Outlined};
pub use global::Global;
pub use hardening::{Checked, Hardening, NoHardening, Secure};
pub use heap::{Heap, VACANT};
pub use latch::Latch;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub use linux::Linux;
pub use policy::{Policy, Profile};
pub use source::{Misuse, PageSource};
pub use stats::Statistics;
#[cfg(feature = "std")]
#[doc(hidden)]
pub use thread::Forks;
#[cfg(feature = "std")]
pub use thread::thread_heap;
pub use tier::{Batched, PerCall, Tier};
pub use zone::Zone;
