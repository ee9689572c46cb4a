//! The record that a table keeps for each frame.
#![forbid(unsafe_code)]

use crate::addr::Pfn;

/// A page descriptor: the user's record for a frame.
///
/// Readers share descriptors, so a field that changes is atomic or under a lock of its own. A
/// descriptor has a size of at least one byte, so that each has its own address.
pub trait Descriptor: Send + Sync + Sized {
    /// Makes the descriptor of `frame`.
    fn of_frame(frame: Pfn) -> Self;

    /// True if the frame must not be unplugged now. Called after lookups have stopped finding it.
    fn is_pinned(&self) -> bool {
        false
    }
}
