//! The heap of a thread: free blocks at hand, the spans that they are of, and blocks on their way
//! to other heaps.
//!
//! [`Heap`](heap::Heap) is the record. [`ThreadHeap`](thread_heap::ThreadHeap) is a heap with the
//! shared state below it, and has the methods.
//!
//! - `heap`: the record; `thread_cache`: the part of it that only its thread uses.
//! - `bins`: the stacks of free blocks, one a class; `outgoing`: blocks of other heaps, not yet
//!   sent.
//! - `thread_heap`: the beginning and end of a heap, sending, and maintenance.
//! - `refill`: the slow paths of blocks: an empty or a full stack; `samples`: blocks chosen at
//!   random.
//! - `spans`: the spans of a heap; `free_batch`: freed blocks of one word of a span.
//! - `exchange`: all interaction between heaps, which loom explores.
//! - `zone`: heaps that belong to a purpose; `object_cache`: caches of objects of one type.

pub(crate) mod bins;
pub(crate) mod exchange;
mod free_batch;
pub(crate) mod heap;
pub(crate) mod object_cache;
mod outgoing;
mod refill;
pub(crate) mod samples;
mod spans;
mod thread_cache;
pub(crate) mod thread_heap;
pub(crate) mod zone;
