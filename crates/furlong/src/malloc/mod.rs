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
//!   the purge delay (`FURLONG_MALLOC_PURGE_DELAY_MS`, 1000 by default), huge pages
//!   (`FURLONG_MALLOC_HUGE_PAGES`: `off`, `objects` or `arenas`), statistics at exit
//!   (`FURLONG_MALLOC_STATISTICS=1`), a heap profile (`FURLONG_MALLOC_HEAP_PROFILE=NAME`) and
//!   sampled guard pages (`FURLONG_MALLOC_GUARDED=N`).
//! - **In a kernel**: implement two traits, [`PageSource`] and [`CurrentHeap`]. The example of the
//!   latter is complete.
//! - **In 64 KiB**: [`SmallHeap`], and [`SmallGlobal`] as the global allocator of a firmware, an
//!   early kernel or a WebAssembly module. It needs nothing of the above, on any target with
//!   atomic operations that exchange.
//! - **For one purpose**: a [`Zone`] is a private heap that is freed as a whole. An [`ObjectCache`]
//!   holds objects of one type, with reserves that cannot fail.
//!
//! Blocks have no header, and free blocks contain no links. All metadata lies outside the blocks,
//! so a stray write by the program cannot make the allocator hand out wrong memory.
//!
//! # Words
//! - **gate**: the entry of allocate and free. Anything that it does not do itself takes a *slow
//!   path*.
//! - **unit**: 64 KiB, aligned; **arena**: 64 units, aligned, mapped at once.
//! - **size class**: a size to which requests are rounded up; **span**: units cut into blocks of
//!   one class; **large object**: a run of units of its own; **huge object**: a mapping of its own.
//! - **heap**: the state of one thread: a stack of free blocks for each class, and spans. A span's
//!   *owner* is its heap.
//! - **carved**: handed to a heap at least once. Blocks beyond the carved ones were never touched.
//! - **remote free**: a free by a thread other than the owner's. The block is *sent*, then *posted*
//!   with others, up to 64 blocks (one word) at a time; the owner *collects* them.
//! - **empty block**: an address in inaccessible memory, for a request of no bytes.
//! - **zone**: a heap that belongs to no thread, with all that is allocated from it.
//! - **ended**: a heap whose thread has exited. A new thread takes over the whole heap; a running
//!   heap takes over single spans of it.
//! - **dirty**: units that are free and may be non-zero; to *purge* is to let the system take their
//!   contents. Units that are dirty in two successive **rounds**, half the delay apart, are *idle*
//!   and are purged.
//! - **aside**: full chunks of a class, set aside until its stack is empty.
//! - **mark**: a per-process secret in the first word of free blocks. A free of a block with the
//!   mark may be a double free; the records confirm it before the program is stopped.
//! - **sample**: an allocation that was chosen at random, for a heap profile ([`Sampler`]). Its
//!   block is of the heap of samples, which no thread has.
//! - **seal**: the last word of a block in use, if blocks are scrubbed; free ones are zeros then,
//!   and have no mark.
//!
//! # Invariants
//! [`Malloc::check`] checks them and names the broken one ([`BrokenMalloc`]).
//! - I1: each unit of an arena is free, in use, or on its way to the system, and its record says
//!   whether it is in use.
//! - I2: dirty units are free, and idle units are dirty; an arena's longest run is right, and so
//!   are the counts of the pool's used and dirty units and of the units of each heap's spans.
//! - I3: the bits of a span's words are its free blocks; the summary names the non-zero words; the
//!   free count equals the number of bits; all free blocks are carved.
//! - I4: a finished span is in its owner's list of its class exactly if it has blocks left to give.
//! - I5: a block in a stack is of a span of that class and that heap, and not free in its span.
//!
//! Lock order: a heap's latch before the pool's; a second heap's latch is only tried. No latch is
//! held while the system maps or takes memory, or while a page is touched for the first time.
//!
//! # The path of malloc(64)
//! Five files, each read once, from the first down. The slow path is named there and stands below.
//! Fields of records (`field`) are plain loads and stores.
//! 1. `front/malloc.rs`: `Malloc::allocate` turns the size into a class, and `allocate_from_bin`
//!    pops a block. They call only the leaves below.
//! 2. `config.rs`: `Gate::enter`, `with_seal` and `Tier::cached`, which vanish in the usual
//!    configuration, and the constants of `Hardening`.
//! 3. `os/current.rs`: `CurrentHeap::pin` and `get`, here those of [`thread_heap`].
//! 4. `thread/bins.rs`: `Bins::pop` reads the top of the class's stack and moves it.
//! 5. `os/block.rs`: `set_first_word` removes the mark of a free block, and `pointer` returns it.
//!
//! An empty stack goes on from `Malloc::allocate_slow`: `thread/refill.rs`
//! (`ThreadHeap::allocate`, `refill`), `thread/spans.rs` (`take_from`, `span_at_hand`, `new_span`),
//! `central/units.rs` (`take_units`, `claim_units`, `grow`), and the system.
//!
//! # Files
//! Each folder's `mod.rs` lists its files. Each type has its methods in at most three.
//! - `front`: [`Malloc`], the interface: its gates, resizing, maintenance, and Rust's allocator
//!   traits.
//! - `thread`: `ThreadHeap`, a thread's heap: its stacks, its spans and remote frees; zones and
//!   caches.
//! - `central`: `Central`, shared by all heaps: the pool, arenas and their units, records, large
//!   objects, and memory that returns to the system.
//! - `os`: [`PageSource`], the interface to the system: Linux, latches, the current heap, and the
//!   memory of blocks.
//! - `small`: [`SmallHeap`], which shares with all others only `runs` and `misuse`.
//! - `config`, `policy`: configuration; `class`, `field`: size classes, and the fields of records;
//!   `runs`: runs of bits in a word; `misuse`: mistakes of callers. `portable` is this file for
//!   targets that have the small heap alone.
//!
//! # Sources
//! - mimalloc 2.4 and 3.4 (`page.c`, `segment.c`): a static that stands for a missing heap; spans
//!   of one class; a map instead of aligned segments.
//! - rpmalloc 2.0 (`rpmalloc.c`): list heads in the heap, sixteen-byte classes up to 1 KiB.
//! - jemalloc 5.3 (`tcache`, `bin.c`): stacks of pointers by class, bitmaps by span.
//! - snmalloc 0.7: remote frees in batches to their owner.
//! - D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation" (2019): the test for a
//!   block's start by one multiplication.

mod central;
mod class;
mod config;
mod field;
mod front;
mod misuse;
mod os;
mod policy;
#[cfg(any(all(test, not(loom)), prove))]
pub mod proofs;
mod runs;
mod small;
#[cfg(all(test, feature = "std", target_os = "linux"))]
mod tests;
mod thread;

pub use central::check::{BrokenMalloc, Statistics};
pub use config::{
    Batched, Checked, Config, Gate, Hardening, Inlined, NoHardening, Outlined, PerCall, Secure,
    Tier,
};
pub use front::{global::Global, malloc::Malloc};
pub use misuse::Misuse;
use misuse::without_unwinding;
#[cfg(feature = "std")]
#[doc(hidden)]
pub use os::current::Forks;
#[cfg(feature = "std")]
pub use os::current::thread_heap;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub use os::linux::{Hook, Linux, Trouble};
pub use os::{current::CurrentHeap, latch::Latch, source::PageSource};
pub use policy::{HugePages, Policy, Profile};
pub use small::{
    check::{BrokenSmall, SmallStatistics},
    global::SmallGlobal,
    heap::SmallHeap,
    source::{RegionSource, StaticRegion},
};
pub use thread::{
    heap::{Heap, VACANT},
    object_cache::{Object, ObjectCache, Reserve},
    samples::{Sample, Sampler},
    zone::{Place, Zone},
};

// Names that several modules below use.
use central::arena::{Arena, UNITS};
use central::empty::EmptyBlocks;
use central::guarded::GuardedBlocks;
use central::large::{LARGE_MAX, LargeObjects, SIZE_MAX};
use central::map::Map;
use central::pool::Pool;
use central::seal::Seals;
use central::span::{FULL, LISTED, MAKING, Span, Use, unit_of};
use central::state::Central;
use central::units::UnitRequest;
use class::{CLASSES, Class, FINE_MAX, GRAIN, MEDIUM_MAX, SMALL_MAX, UNIT, UNIT_SHIFT};
use config::{SEAL, with_seal};
use field::{Bits, Byte, Fixed, Half, Link, Short, Word};
use os::block::{begins_with, copy, pointer, set_first_word, zero};
use os::system::{System, clear, clear_block, is_zero, put_word, stop, touch, word_at};
use thread::bins::{DEPTH, FREED};
use thread::exchange::Exchange;
use thread::heap::State;
use thread::samples::Samples;
use thread::thread_heap::ThreadHeap;
