//! The interface of an arm of `iova-gap`: an allocator of addresses.

use furlong::addr::{Extent, Iova};

use furlong_lab::model::Failure;

/// Bytes of a page: every size, alignment and address of the experiment is a multiple.
pub const PAGE: u64 = 4096;

/// A request: whole pages, and their constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Bytes, a multiple of [`PAGE`].
    pub size: u64,
    /// Alignment of the start: a power of two, at least [`PAGE`].
    pub align: u64,
    /// The lowest start, a multiple of [`PAGE`].
    pub low: u64,
    /// The highest last byte, inclusive.
    pub high: u64,
    /// Choice among the suitable places.
    pub place: Place,
}

/// Choice among the places that suit a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The lowest.
    Lowest,
    /// The highest.
    Highest,
    /// Any, with equal probability; the number seeds the draw, so that it can be repeated.
    Random(u64),
}

/// Hands out addresses: one side of a race.
///
/// An arm is written as the project's own users would write it. A grant is whatever its `release`
/// takes: an address, a range or a handle.
pub trait AddressAllocator: Sized {
    /// Handle that releases a reservation.
    type Grant;

    /// Makes an allocator over the bytes of `space`, with nothing reserved. It may count in
    /// granules of `granule` bytes: the space and all requests consist of whole ones.
    ///
    /// # Errors
    /// The allocator cannot be made.
    fn new(space: Extent<Iova>, granule: u64) -> Result<Self, Failure>;

    /// Reserves exactly these extents, which do not overlap, before anything is timed. Nothing is
    /// reserved before. Returns their grants in the same order.
    ///
    /// The extents come in random order, as use would fill a space. An allocator that can reserve
    /// at a given address reserves them one by one in that order.
    ///
    /// # Errors
    /// Not all of them were reserved.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Self::Grant>, Failure> {
        let grants = extents.iter().map(|extent| self.reserve_at(*extent));
        let not_filled = || Failure("an extent that is free was not reserved".to_owned());
        grants.collect::<Option<_>>().ok_or_else(not_filled)
    }

    /// Reserves a whole extent, or none of it. Only for an allocator that can.
    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Self::Grant> {
        unreachable!("{extent:?} cannot be asked for")
    }

    /// Reserves the request. Returns its start and its grant, or `None` if no place suits.
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Self::Grant)>;

    /// Releases a grant.
    fn release(&mut self, grant: Self::Grant);

    /// Checks the invariants, then returns the reserved extents in ascending order. Neighbours may
    /// be merged.
    ///
    /// # Errors
    /// The broken invariant.
    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure>;

    /// Entries that searches for a gap have visited so far, if counted.
    fn visits(&self) -> Option<u64> {
        None
    }
}
