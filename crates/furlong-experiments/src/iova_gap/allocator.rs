//! What an arm of `iova-gap` is: something that hands out addresses.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};

use furlong_lab::model::Failure;

/// Bytes of a page: every size, alignment and address of the experiment is a multiple.
pub const PAGE: u64 = 4096;

/// What is asked for: whole pages, and where they may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Bytes, a multiple of [`PAGE`].
    pub size: u64,
    /// What the start is a multiple of: a power of two, at least [`PAGE`].
    pub align: u64,
    /// The lowest start, a multiple of [`PAGE`].
    pub low: u64,
    /// The highest last byte.
    pub high: u64,
    /// Which of the places that suit.
    pub place: Place,
}

/// Which of the places that suit a request it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The lowest.
    Lowest,
    /// The highest.
    Highest,
    /// Any, all of them equally likely; the number seeds the draw, so that it can be repeated.
    Random(u64),
}

/// Hands out addresses: one side of a race.
///
/// An arm is written as the project's own users would write it: a grant is whatever its `release`
/// wants back, be it an address, a range or a handle.
pub trait AddressAllocator: Sized {
    /// What releases a grant.
    type Grant;

    /// Over the bytes of `space`, which are whole pages, with nothing reserved.
    ///
    /// # Errors
    /// It cannot be had.
    fn new(space: Extent<Iova>) -> Result<Self, Failure>;

    /// Reserves exactly these extents, which do not overlap, before anything is timed; their grants
    /// in the same order. Nothing is reserved before.
    ///
    /// They come in a random order, as a space is filled by use: an allocator that can reserve at a
    /// given address does so one by one in that order.
    ///
    /// # Errors
    /// They were not all reserved.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Self::Grant>, Failure>;

    /// Reserves what is asked for: its start, and what releases it. `None` where no place suits.
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Self::Grant)>;

    /// Releases what was reserved.
    fn release(&mut self, grant: Self::Grant);

    /// What is reserved, in ascending order, after a check of whatever can be checked; neighbours
    /// may come as one.
    ///
    /// # Errors
    /// What is broken.
    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure>;

    /// Entries that searches for a gap have looked at so far, where they are counted.
    fn visits(&self) -> Option<u64>;
}
