//! What can be asked of a space, and what it answers.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong::iova::{Kind, ReleaseError, Request, ReserveAtError, ReserveError};

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
    /// Release the grant of this number, counted round where there are fewer.
    Release(usize),
    /// Release exactly this by its address.
    ReleaseAt(Extent<Iova>),
    /// Who owns this address?
    Owner(Iova),
    /// All that is reserved, in order.
    Reserved,
    /// All that is free, in order.
    Free,
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
    /// An extent and what it is reserved for, or nothing.
    Owner(Option<(Extent<Iova>, Kind)>),
    /// Extents, and what they are reserved for.
    Reserved(Vec<(Extent<Iova>, Kind)>),
    /// Gaps.
    Free(Vec<Extent<Iova>>),
}
