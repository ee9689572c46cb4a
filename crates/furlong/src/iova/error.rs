//! Error types, one for each operation. An operation that returns one has changed nothing.
#![forbid(unsafe_code)]

use thiserror::Error;

use super::Grant;
use crate::addr::{Extent, Iova};

/// Reason why a space cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    /// The granule, in bytes, is 0 or not a power of two.
    #[error("the granule, {0} bytes, is not a power of two")]
    Granule(u64),
    /// The first byte of the space does not begin a granule, or its last byte does not end one.
    #[error("{0:?} does not consist of whole granules")]
    Ragged(Extent<Iova>),
}

/// Reason why nothing was reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReserveError {
    /// The size is 0.
    #[error("the size is 0")]
    ZeroSize,
    /// The alignment is 0 or not a power of two.
    #[error("the alignment, {0}, is not a power of two")]
    Align(u64),
    /// The offset is not less than a granule.
    #[error("the offset, {0}, must be less than a granule")]
    Offset(u64),
    /// The boundary is 0 or not a power of two.
    #[error("the boundary, {0}, is not a power of two")]
    Boundary(u64),
    /// The data cannot avoid crossing the boundary, and may not be split.
    #[error("{size} bytes always cross a multiple of {boundary}")]
    CrossesBoundary {
        /// Bytes of data.
        size: u64,
        /// The boundary: data may not cross a multiple of it.
        boundary: u64,
    },
    /// The window ends before it begins.
    #[error("the window {low}..={high} is reversed")]
    Window {
        /// First address of the window.
        low: Iova,
        /// Last address of the window.
        high: Iova,
    },
    /// Offset, size and guards together exceed 64 bits; no space is that large.
    #[error("{0} bytes with guards fit no space")]
    TooLarge(u64),
    /// No gap satisfies the request.
    #[error("no gap fits {wanted} bytes; the largest has {largest}")]
    NoSpace {
        /// Bytes that a gap needs for the request: the data in whole granules, plus guards.
        wanted: u64,
        /// Bytes of the largest gap anywhere in the space; `u64::MAX` stands for 2^64.
        largest: u64,
    },
    /// No place that respects the boundary was found, but some large enough gaps were not
    /// inspected. Neither a space whose measure knows the boundary ([`Boundary`](super::Boundary))
    /// nor [`Best`](super::Best), which inspects every gap, gives up.
    #[error("too many gaps cross the boundary of {0} to search them all")]
    GaveUp(u64),
    /// Out of memory for another node.
    #[error("out of memory for another node")]
    NoMemory,
}

/// Reason why an extent was not reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReserveAtError {
    /// It is not made of whole granules.
    #[error("{0:?} does not consist of whole granules")]
    Ragged(Extent<Iova>),
    /// Part of it lies outside the space.
    #[error("the space is {0:?}")]
    Outside(Extent<Iova>),
    /// It overlaps this extent.
    #[error("{0:?} is reserved")]
    Occupied(Extent<Iova>),
    /// Out of memory for another node.
    #[error("out of memory for another node")]
    NoMemory,
}

/// The grant belongs to another space, or its extent has been released or cut by its address. The
/// grant is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{:?} was not granted by this space", .0.extent())]
pub struct Stale(pub Grant);

/// Reason why an extent was not released by its address; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// None of it is reserved.
    #[error("no part of it is reserved")]
    NotReserved,
    /// This extent overlaps it, but is not equal to it.
    #[error("{0:?} is reserved as a whole")]
    Partial(Extent<Iova>),
    /// It is not made of whole granules.
    #[error("{0:?} does not consist of whole granules")]
    Ragged(Extent<Iova>),
}
