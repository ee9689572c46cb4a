//! The heap of a thread: free blocks at hand, spans, and frees of other threads' blocks.
//!
//! - `heap`: the record. `thread_cache`: the part that only its thread uses.
//! - `bins`: the stacks of free blocks. `outgoing`: blocks of other heaps, before they are sent.
//! - `thread_heap`: the beginning and end of a heap. `refill`: an empty or a full stack.
//! - `spans`: the spans of a heap. `free_batch`: freed blocks of one word.
//! - `remote`: frees of other threads' blocks. `exchange`: all interaction between heaps.
//! - `zone`: heaps that belong to no thread. `object_cache`: zones with a type.

pub(crate) mod bins;
pub(crate) mod exchange;
pub(crate) mod free_batch;
pub(crate) mod heap;
pub(crate) mod object_cache;
pub(crate) mod outgoing;
mod refill;
mod remote;
mod spans;
pub(crate) mod thread_cache;
pub(crate) mod thread_heap;
pub(crate) mod zone;
