//! What a table keeps about each frame.
#![forbid(unsafe_code)]

use crate::addr::Pfn;

/// A page descriptor: what the table's user wants to know about a frame.
///
/// Readers share descriptors, so what changes in one is atomic or under a lock of its own. A
/// descriptor has a size of one byte at least, so that each has its own address.
pub trait Descriptor: Send + Sync + Sized {
    /// The descriptor of `frame`, made when the frame gets one.
    fn of_frame(frame: Pfn) -> Self;

    /// Whether the frame may not be unplugged now. Asked when nobody finds the frame any more.
    fn is_pinned(&self) -> bool {
        false
    }
}
