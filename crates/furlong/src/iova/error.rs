//! Error types, one for each operation. An operation that returns one has changed nothing.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

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

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granule(granule) => {
                write!(f, "the granule, {granule} bytes, is not a power of two")
            }
            Self::Ragged(extent) => write!(f, "{extent:?} does not consist of whole granules"),
        }
    }
}

impl Error for GeometryError {}

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

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroSize => f.write_str("the size is 0"),
            Self::Align(align) => write!(f, "the alignment, {align}, is not a power of two"),
            Self::Offset(offset) => write!(f, "the offset, {offset}, must be less than a granule"),
            Self::Boundary(boundary) => {
                write!(f, "the boundary, {boundary}, is not a power of two")
            }
            Self::CrossesBoundary { size, boundary } => {
                write!(f, "{size} bytes always cross a multiple of {boundary}")
            }
            Self::Window { low, high } => write!(f, "the window {low}..={high} is reversed"),
            Self::TooLarge(size) => write!(f, "{size} bytes with guards fit no space"),
            Self::NoSpace { wanted, largest } => {
                write!(f, "no gap fits {wanted} bytes; the largest has {largest}")
            }
            Self::GaveUp(boundary) => {
                write!(
                    f,
                    "too many gaps cross the boundary of {boundary} to search them all"
                )
            }
            Self::NoMemory => f.write_str("out of memory for another node"),
        }
    }
}

impl Error for ReserveError {}

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

impl fmt::Display for ReserveAtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ragged(extent) => write!(f, "{extent:?} does not consist of whole granules"),
            Self::Outside(space) => write!(f, "the space is {space:?}"),
            Self::Occupied(conflict) => write!(f, "{conflict:?} is reserved"),
            Self::NoMemory => f.write_str("out of memory for another node"),
        }
    }
}

impl Error for ReserveAtError {}

/// The grant belongs to another space, or its extent has been released or cut by its address. The
/// grant is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Stale(pub Grant);

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} was not granted by this space", self.0.extent())
    }
}

impl Error for Stale {}

/// Reason why an extent was not released by its address; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseError {
    /// None of it is reserved.
    NotReserved,
    /// This extent overlaps it, but is not equal to it.
    Partial(Extent<Iova>),
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReserved => f.write_str("no part of it is reserved"),
            Self::Partial(owner) => write!(f, "{owner:?} is reserved as a whole"),
            Self::Ragged(extent) => write!(f, "{extent:?} does not consist of whole granules"),
        }
    }
}

impl Error for ReleaseError {}
