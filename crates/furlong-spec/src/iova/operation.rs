//! What can be asked of a space, and what it answers.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong::iova::{
    ClaimError, Kind, PartError, RangeError, ReleaseError, Request, ReserveAtError, ReserveError,
};

/// A policy as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The lowest place.
    Lowest,
    /// The highest place.
    Highest,
    /// The one nearest to an address, the lower of two.
    Near(Iova),
    /// The lowest one in the smallest gap that has one.
    Best,
    /// Any, drawn with the numbers of this seed.
    Random(u64),
}

/// An operation. Grants are kept in the order in which they are granted; where one is released, the
/// last one takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reserve what is asked for, at the place that the policy chooses.
    Reserve(Request, Place),
    /// Reserve exactly this.
    ReserveAt(Extent<Iova>),
    /// Reserve this for the firmware; it may overlap others of its kind.
    Fixed(Extent<Iova>),
    /// Reserve every free part of this.
    Fill(Extent<Iova>),
    /// Get the grant of exactly this, which nobody has.
    Claim(Extent<Iova>),
    /// Release the grant of this number, counted round where there are fewer.
    Release(usize),
    /// Release exactly this by its address.
    ReleaseAt(Extent<Iova>),
    /// Release this part of the grant of this number, which is put back where it is refused.
    ReleasePart(usize, Extent<Iova>),
    /// Release all of this but what is fixed.
    ReleaseRange(Extent<Iova>),
    /// Release all that nobody has the grant of.
    ReleaseUnclaimed,
    /// Save the space, forget it and all grants, and restore it.
    SaveRestore,
    /// Who owns this address?
    Owner(Iova),
    /// All that is reserved, in order.
    Reserved,
    /// All that is free, in order.
    Free,
    /// The extents of which a byte is in this, in order.
    ReservedIn(Extent<Iova>),
    /// What is free of this, in order.
    FreeIn(Extent<Iova>),
}

/// A grant without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// What is reserved.
    pub extent: Extent<Iova>,
    /// The data in it.
    pub data: Extent<Iova>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This is reserved.
    Granted(Granted),
    /// Nothing is reserved.
    Refused(ReserveError),
    /// It is not reserved.
    RefusedAt(ReserveAtError),
    /// The grant's extent is released.
    Released,
    /// The grant stands for nothing any more.
    Stale(Extent<Iova>),
    /// There is no grant.
    NoGrant,
    /// This is released, and had been reserved for that.
    ReleasedAt(Kind),
    /// Nothing is released.
    NotReleased(ReleaseError),
    /// These are reserved.
    Parts(Vec<Extent<Iova>>),
    /// Nothing is done about the range.
    RangeRefused(RangeError),
    /// It has no other grant.
    NotClaimed(ClaimError),
    /// A part is released; this is left below and above it.
    Kept(Option<Granted>, Option<Granted>),
    /// No part is released.
    PartNotReleased(PartError),
    /// These are released, and had been reserved for that.
    Pieces(Vec<(Extent<Iova>, Kind)>),
    /// The space is as it was, but nobody has a grant.
    Restored,
    /// An extent and what it is reserved for, or nothing.
    Owner(Option<(Extent<Iova>, Kind)>),
    /// Extents, and what they are reserved for.
    Reserved(Vec<(Extent<Iova>, Kind)>),
    /// Gaps.
    Free(Vec<Extent<Iova>>),
}
