//! Operations on a space, and their outcomes.

use furlong::addr::{Extent, Iova};
use furlong::iova::{
    ClaimError, ExtendError, Kind, PartError, RangeError, ReleaseError, Request, ReserveAtError,
    ReserveError,
};

/// A placement policy as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The lowest place.
    Lowest,
    /// The highest place.
    Highest,
    /// The place nearest to an address; the lower of two equally near.
    Near(Iova),
    /// The lowest place in the smallest gap that has one.
    Best,
    /// Any place, chosen with random numbers from this seed.
    Random(u64),
}

/// An operation. Grants are numbered in the order in which they are made; when one is released, the
/// last one takes its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reserves for the request, at the place that the policy chooses.
    Reserve(Request, Place),
    /// Reserves exactly this extent.
    ReserveAt(Extent<Iova>),
    /// Reserves this extent as fixed, such as for the firmware. Fixed extents may overlap.
    Fixed(Extent<Iova>),
    /// Reserves every free part of this extent.
    Fill(Extent<Iova>),
    /// Claims the grant of exactly this extent, which has none.
    Claim(Extent<Iova>),
    /// Gives up the grant of this number: its extent has none afterwards.
    Disown(usize),
    /// Releases the grant of this number, modulo the number of grants.
    Release(usize),
    /// Releases exactly this extent by its address.
    ReleaseAt(Extent<Iova>),
    /// Releases this part of the grant of this number. The grant stays in the list if that is
    /// refused.
    ReleasePart(usize, Extent<Iova>),
    /// Releases everything in this extent that is not fixed.
    ReleaseRange(Extent<Iova>),
    /// Releases every extent without a grant.
    ReleaseUnclaimed,
    /// Extends the space to this extent.
    Extend(Extent<Iova>),
    /// Saves the space, drops it and all grants, and restores it.
    SaveRestore,
    /// Looks up the owner of this address.
    Owner(Iova),
    /// Lists all reserved extents, in order.
    Reserved,
    /// Lists all gaps, in order.
    Free,
    /// Lists the extents that overlap this one, in order.
    ReservedIn(Extent<Iova>),
    /// Lists the free parts of this extent, in order.
    FreeIn(Extent<Iova>),
}

/// A grant without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The reserved extent.
    pub extent: Extent<Iova>,
    /// The data within it.
    pub data: Extent<Iova>,
}

impl Granted {
    /// A grant that is data as a whole.
    pub(super) fn whole(extent: Extent<Iova>) -> Self {
        let data = extent;
        Self { extent, data }
    }
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The grant made.
    Granted(Granted),
    /// The request was refused; nothing is reserved.
    Refused(ReserveError),
    /// The extent was refused; nothing is reserved.
    RefusedAt(ReserveAtError),
    /// The grant's extent was released.
    Released,
    /// The grant was given up. It had this extent.
    Disowned(Extent<Iova>),
    /// The grant is stale: its extent is not reserved for it.
    Stale(Extent<Iova>),
    /// There are no grants.
    NoGrant,
    /// The extent was released. It had this kind.
    ReleasedAt(Kind),
    /// The release was refused.
    NotReleased(ReleaseError),
    /// These parts were reserved.
    Parts(Vec<Extent<Iova>>),
    /// The operation on a range was refused.
    RangeRefused(RangeError),
    /// The claim was refused.
    NotClaimed(ClaimError),
    /// A part was released. These grants remain below and above it.
    Kept(Option<Granted>, Option<Granted>),
    /// The release of a part was refused.
    PartNotReleased(PartError),
    /// These extents were released. They had these kinds.
    Pieces(Vec<(Extent<Iova>, Kind)>),
    /// The space was extended.
    Extended,
    /// The extension was refused.
    NotExtended(ExtendError),
    /// The space was restored, without grants.
    Restored,
    /// The extent at the address and its kind, if it is reserved.
    Owner(Option<(Extent<Iova>, Kind)>),
    /// Reserved extents and their kinds.
    Reserved(Vec<(Extent<Iova>, Kind)>),
    /// Free extents.
    Free(Vec<Extent<Iova>>),
}
