//! A heap over regions of some kilobytes, for firmware, kernels and WebAssembly.
//!
//! An arena of [`Malloc`](crate::malloc::Malloc) is 4 MiB, and has a word that says which of its 64
//! units of 64 KiB are free. Here the same is done on one level: a region is cut into grains of two
//! words, and words say which are free. There are no size classes and no heaps of threads, which
//! would keep most of a small region in free blocks.
//!
//! - `table`: the grains of a region, and the first run that is long enough.
//! - `region`: a region, and its blocks by address; `heap`: [`SmallHeap`](heap::SmallHeap), all
//!   regions.
//! - `source`: regions in a static, or from a system; `global`: the heap under a lock.
//! - `check`: walks over everything.
//!
//! # Invariants
//! - Each grain is free, or in use by the block that begins at the last first grain before it.
//! - A summary has the longest runs of free grains at the begin, at the end and anywhere in its
//!   part.
//! - The lowest run that is long enough and aligned is used. So a heap that received the same
//!   requests has the same blocks.
//!
//! # Sources
//! - P. Wilson, M. Johnstone, M. Neely, D. Boles, "Dynamic storage allocation: a survey and
//!   critical review" (1995): the lowest place that fits wastes as little as the tightest one.
//! - Go 1.12 (`mpagealloc.go`): summaries of the first, longest and last run of free pages.

pub(super) mod check;
pub(super) mod global;
pub(super) mod heap;
pub(super) mod region;
pub(super) mod source;
mod table;
