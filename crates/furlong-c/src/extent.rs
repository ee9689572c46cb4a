//! Ranges, by their first and last index.
#![forbid(unsafe_code)]

use furlong::addr::{self, Address};

use crate::errno::Errno;

/// A range that is not empty, given by its first and its last index, so that it may reach the end
/// of the space.
#[repr(C)]
pub struct Extent {
    /// The first index.
    pub start: u64,
    /// The last index, which belongs to the range.
    pub last: u64,
}

impl<A: Address> From<addr::Extent<A>> for Extent {
    fn from(extent: addr::Extent<A>) -> Self {
        Self {
            start: extent.start().raw(),
            last: extent.last().raw(),
        }
    }
}

/// The extent from `start` to `last`, if they are in order.
pub(crate) fn extent<A: Address>(start: u64, last: u64) -> Result<addr::Extent<A>, Errno> {
    let (start, last) = (A::from_raw(start), A::from_raw(last));
    addr::Extent::from_last(start, last).ok_or(Errno::INVALID)
}
