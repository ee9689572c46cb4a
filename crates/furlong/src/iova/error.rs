//! Error types, one for each operation. An operation that returns one has changed nothing.
#![forbid(unsafe_code)]

use crate::error::messages;

use super::Grant;
use crate::addr::{Extent, Iova};

/// Reason why a space cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The granule, in bytes, is 0 or not a power of two.
    Granule(u64),
    /// The first byte of the space does not begin a granule, or its last byte does not end one.
    Ragged(Extent<Iova>),
}

messages! { GeometryError:
    Self::Granule(n) => "the granule, {n} bytes, is not a power of two";
    Self::Ragged(it) => "{it:?} does not consist of whole granules";
}

/// Reason why a space was not extended; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendError {
    /// The first byte does not begin a granule, or the last byte does not end one.
    Ragged(Extent<Iova>),
    /// It does not contain the whole space, which is given here.
    Smaller(Extent<Iova>),
}

messages! { ExtendError:
    Self::Ragged(it) => "{it:?} does not consist of whole granules";
    Self::Smaller(it) => "the space is {it:?}, and cannot shrink";
}

/// Reason why nothing was reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError {
    /// The size is 0.
    ZeroSize,
    /// The alignment is 0 or not a power of two.
    Align(u64),
    /// The offset is not less than a granule.
    Offset(u64),
    /// The boundary is 0 or not a power of two.
    Boundary(u64),
    /// The data cannot avoid crossing the boundary, and may not be split.
    CrossesBoundary {
        /// Bytes of data.
        size: u64,
        /// The boundary: data may not cross a multiple of it.
        boundary: u64,
    },
    /// The window ends before it begins.
    Window {
        /// First address of the window.
        low: Iova,
        /// Last address of the window.
        high: Iova,
    },
    /// Offset, size and guards together exceed 64 bits; no space is that large.
    TooLarge(u64),
    /// No gap satisfies the request.
    NoSpace {
        /// Bytes that a gap needs for the request: the data in whole granules, plus guards.
        wanted: u64,
        /// Bytes of the largest gap anywhere in the space; `u64::MAX` stands for 2^64.
        largest: u64,
    },
    /// No place that respects the boundary was found, but some large enough gaps were not
    /// inspected. Neither a space whose measure knows the boundary ([`Boundary`](super::Boundary))
    /// nor [`Best`](super::Best), which inspects every gap, gives up.
    GaveUp(u64),
    /// Out of memory for another node.
    NoMemory,
}

messages! { ReserveError:
    Self::ZeroSize => "the size is 0";
    Self::Align(n) => "the alignment, {n}, is not a power of two";
    Self::Offset(n) => "the offset, {n}, must be less than a granule";
    Self::Boundary(n) => "the boundary, {n}, is not a power of two";
    Self::CrossesBoundary { size, boundary } =>
        "{size} bytes always cross a multiple of {boundary}";
    Self::Window { low, high } => "the window {low}..={high} is reversed";
    Self::TooLarge(n) => "{n} bytes with guards fit no space";
    Self::NoSpace { wanted, largest } => "no gap fits {wanted} bytes; the largest has {largest}";
    Self::GaveUp(n) => "too many gaps cross the boundary of {n} to search them all";
    Self::NoMemory => "out of memory for another node";
}

/// Reason why an extent was not reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveAtError {
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
    /// Part of it lies outside the space.
    Outside(Extent<Iova>),
    /// It overlaps this extent.
    Occupied(Extent<Iova>),
    /// Out of memory for another node.
    NoMemory,
}

messages! { ReserveAtError:
    Self::Ragged(it) => "{it:?} does not consist of whole granules";
    Self::Outside(it) => "the space is {it:?}";
    Self::Occupied(it) => "{it:?} is reserved";
    Self::NoMemory => "out of memory for another node";
}

/// The grant belongs to another space, or its extent has been released or cut by its address. The
/// grant is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Stale(pub Grant);

messages! { Stale:
    Self(it) => "{:?} was not granted by this space", it.extent();
}

/// Reason why an extent was not released by its address; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseError {
    /// None of it is reserved.
    NotReserved,
    /// This extent overlaps it, but is not equal to it.
    Partial(Extent<Iova>),
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
    /// A grant or a token of it is outstanding, or the [`Domain`](super::Domain) keeps it for
    /// another reservation. A [`Space`](super::Space) does not refuse so.
    Granted,
}

messages! { ReleaseError:
    Self::NotReserved => "no part of it is reserved";
    Self::Partial(it) => "{it:?} is reserved as a whole";
    Self::Granted => "its grant has not been given up";
    Self::Ragged(it) => "{it:?} does not consist of whole granules";
}
