//! The system below: pages, latches, and the place of the caller's heap.
//!
//! - `source`: [`PageSource`](source::PageSource), the interface to the system. `linux`: Linux.
//! - `system`: the page source, called by address.
//! - `latch`: the lock on which a page source waits.
//! - `current`: the heap that serves the caller, and its place in thread-local storage.
//! - `block`: accesses to the memory of blocks.

pub(crate) mod block;
pub(crate) mod current;
pub(crate) mod latch;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub(crate) mod linux;
pub(crate) mod source;
pub(crate) mod system;
