//! Allocators of slots, which authors of drivers use instead of a pool of bounce buffers.
//!
//! # Files
//!
//! - `bitmap`, `buddy_frames`, `buddy_heap`, `offset`: crates, a file each.
//! - `arms`: their arms in `bounce-area`, and the workloads that they cannot run.

mod arms;
mod bitmap;
mod buddy_frames;
mod buddy_heap;
mod offset;

pub use arms::{EXPERIMENT, arms};
pub use bitmap::Bitmap;
pub use buddy_frames::BuddyFrames;
pub use buddy_heap::BuddyHeap;
pub use offset::Offsets;
