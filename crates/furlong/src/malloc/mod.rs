//! A general-purpose allocator.
//!
//! # What it is
//! # Words
//! # Invariants
//! # Files
//! # Sources

mod arena;
mod block;
mod check;
mod class;
mod config;
mod current;
mod field;
mod fork;
mod gate;
mod global;
mod group;
mod hardening;
mod heap;
mod heaps;
mod large;
mod latch;
#[cfg(all(feature = "std", target_os = "linux"))]
mod linux;
mod malloc;
mod map;
mod policy;
mod pool;
mod refill;
mod remote;
mod source;
mod span;
mod spans;
mod stack;
mod stats;
mod system;
#[cfg(feature = "std")]
mod thread;
mod tier;
mod units;

pub use check::BrokenMalloc;
pub use config::Config;
pub use current::CurrentHeap;
pub use gate::{Gate, Inlined, Outlined};
pub use global::Global;
pub use hardening::{Checked, Hardening, NoHardening, Secure};
pub use heap::{Heap, VACANT};
#[cfg(all(feature = "std", target_os = "linux"))]
pub use linux::Linux;
pub use malloc::Malloc;
pub use policy::{Policy, Profile};
pub use source::{Misuse, PageSource};
pub use stats::Statistics;
#[cfg(feature = "std")]
pub use thread::thread_heap;
pub use tier::{Batched, PerCall, Tier};
