//! A general-purpose allocator, for processes and for kernels.
//!
//! # What it is
//! A [`Malloc`] in a static serves all threads of a program, or all processors of a kernel. Under
//! it is a [`PageSource`], beside it a [`CurrentHeap`], which says whose heap the caller has; the
//! library itself needs neither an operating system nor thread-local storage. Three things differ
//! by type ([`Config`]): how much is done against misuse ([`Hardening`]), how its gates are entered
//! ([`Gate`]), and when its policy is asked ([`Tier`]). What it keeps is data ([`Profile`]).
//!
//! - **In a program of Rust**: [`Global`] and [`thread_heap`]; with the feature `allocator-api2`
//!   for single collections. `examples/malloc.rs` is one.
//! - **In any program**: `LD_PRELOAD` of a library of `furlong-preload`, with a profile from
//!   `FURLONG_MALLOC_PROFILE` (`conservative`) and `FURLONG_MALLOC_PREFAULT=1`, memory that nobody
//!   takes back after `FURLONG_MALLOC_PURGE_DELAY_MS` (1000), and numbers at exit by
//!   `FURLONG_MALLOC_STATISTICS=1`.
//! - **In a kernel**: two traits to implement, [`PageSource`] and [`CurrentHeap`], whose example is
//!   a whole one.
//! - **For a purpose**: a [`Zone`] is a heap of one's own, given back all at once; an
//!   [`ObjectCache`] is one of a single type, with reserves that cannot fail.
//!
//! Blocks have no header, and free blocks no link: all that is known about them lies elsewhere, so
//! that no stray write by a program makes the allocator hand out what it must not.
//!
//! # Words
//! - **gate**: the entry of allocate and free; what it does not do itself goes a *slow way*.
//! - **unit**: 64 KiB, aligned; **arena**: 64 units, aligned, mapped at once.
//! - **size class**: a size to which requests are rounded; **span**: units cut into blocks of one
//!   class; **large object**: units of its own; **huge object**: a mapping of its own.
//! - **heap**: what one thread has: a stack of free blocks for each class, and spans. A span's
//!   *owner* is its heap.
//! - **carved**: given to a heap at least once. Blocks behind were never touched.
//! - **remote free**: a free by a thread that does not have the owner. It is *sent*, and with
//!   others *posted*, a word of up to 64 blocks at a time; the owner *collects*.
//! - **zone**: a heap that is no thread's, with all that is allocated from it.
//! - **ended**: a heap whose thread is gone. A thread that begins takes the whole heap over; a
//!   running heap *adopts* spans of it.
//! - **dirty**: of units, that nobody has them and that they may not be zeros; to *purge* is to let
//!   the system have what is in them. What is dirty in two **rounds**, of half the delay each, is
//!   *idle*, and purged.
//! - **aside**: of a stack, full ones of the same class that wait until it is empty.
//! - **mark**: a secret of the process in the first word of free blocks, by which a second free is
//!   suspected; it is proved by the records before the program is stopped.
//!
//! # Invariants
//! [`Malloc::check`] walks them and names the one that is broken ([`BrokenMalloc`]).
//! - I1: each unit of an arena is free, in use, or on its way to the system, and its record says
//!   whether it is in use.
//! - I2: dirty units are free, and idle ones dirty; the pool counts units in use, and dirty ones,
//!   rightly.
//! - I3: a span's free blocks are the bits of its words; the summary names the words that have
//!   any; the number is their count; all are carved.
//! - I4: a span that is made is in its owner's list of its class exactly when it has something to
//!   give.
//! - I5: a block in a stack is of a span of that class and that heap, and not free in its span.
//!
//! Locks: a heap's latch before the pool's; a second heap's latch is only tried. No latch is held
//! while the system maps or takes memory, or a page is touched for the first time.
//!
//! # Files
//! - `allocator`: the gates; `refill`: the slow ways; `resize`; `large`, `kept`: objects above the
//!   classes.
//! - `class`, `span`, `spans`, `arena`, `units`, `map`, `grow`: sizes, records, the way to them,
//!   and how they come and go.
//! - `heap`, `own`, `heaps`, `stack`: heaps, how they begin and end, and what they keep.
//! - `remote`, `outgoing`: frees by other threads; `group`: neighbours among freed blocks;
//!   `exchange`: what heaps do with each other, which loom explores.
//! - `pool`: what all share; `purge`: what goes back to the system; `fork`: a process that forks;
//!   `latch`, `field`: what records are of.
//! - `config`, `policy`, `hardening`, `seal`, `gate`, `tier`: what may differ; `source`, `system`,
//!   `current`, `linux` and its `latch`, `thread`: what the allocator stands on; `block`: what
//!   touches memory.
//! - `zone`, `cache`: heaps of one's own, and such of one type.
//! - `global`, `api2`: Rust's allocators; `check`, `stats`: the invariants, and how much is in use.
//!
//! # Sources
//! - mimalloc 2.4 and 3.4 (`page.c`, `segment.c`): a static that stands for a heap that is not
//!   there; spans of one class; a map instead of aligned segments.
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
