//! What is refused, one type an operation. After each of them nothing has changed.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::Grant;
use crate::addr::{Extent, Iova};

/// Why there can be no such space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The granule, in bytes, is 0 or no power of two.
    Granule(u64),
    /// The first byte of the space begins no granule, or its last byte ends none.
    Ragged(Extent<Iova>),
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granule(granule) => write!(f, "a granule of {granule} bytes is no power of two"),
            Self::Ragged(extent) => write!(f, "{extent:?} is not made of whole granules"),
        }
    }
}

impl Error for GeometryError {}

/// Why nothing was reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveError {
    /// The size is 0.
    ZeroSize,
    /// The alignment is 0 or no power of two.
    Align(u64),
    /// The offset is not less than a granule.
    Offset(u64),
    /// The boundary is 0 or no power of two.
    Boundary(u64),
    /// The data is longer than the boundary lets it be, and may not be split.
    CrossesBoundary {
        /// Bytes of data.
        size: u64,
        /// What they would cross a multiple of.
        boundary: u64,
    },
    /// The window ends before it begins.
    Window {
        /// Where it begins.
        low: Iova,
        /// Where it ends.
        high: Iova,
    },
    /// No space is that large: offset, size and guards do not fit 64 bits.
    TooLarge(u64),
    /// No gap will do.
    NoSpace {
        /// Bytes that a gap must have for the request: data in whole granules, and guards.
        wanted: u64,
        /// Bytes of the largest gap anywhere in the space; `u64::MAX` where they are 2^64.
        largest: u64,
    },
    /// No place was found that keeps off the boundary, but not every gap that is large enough has
    /// been looked at. A space whose measure knows the boundary does not give up
    /// ([`Boundary`](super::Boundary)), nor does [`Best`](super::Best), which looks at all.
    GaveUp(u64),
    /// There is no memory for another node.
    NoMemory,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroSize => f.write_str("a size of 0 asks for nothing"),
            Self::Align(align) => write!(f, "an alignment of {align} is no power of two"),
            Self::Offset(offset) => write!(f, "an offset of {offset} is a granule or more"),
            Self::Boundary(boundary) => write!(f, "a boundary of {boundary} is no power of two"),
            Self::CrossesBoundary { size, boundary } => {
                write!(
                    f,
                    "{size} bytes cross a multiple of {boundary} wherever they lie"
                )
            }
            Self::Window { low, high } => write!(f, "the window {low}..={high} is reversed"),
            Self::TooLarge(size) => write!(f, "{size} bytes with guards fit no space"),
            Self::NoSpace { wanted, largest } => {
                write!(
                    f,
                    "no gap for {wanted} bytes will do; the largest has {largest}"
                )
            }
            Self::GaveUp(boundary) => {
                write!(
                    f,
                    "too many gaps lie across the boundary of {boundary} to look at them all"
                )
            }
            Self::NoMemory => f.write_str("there is no memory for another node"),
        }
    }
}

impl Error for ReserveError {}

/// Why an extent was not reserved; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveAtError {
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
    /// Part of it lies outside the space.
    Outside(Extent<Iova>),
    /// It overlaps this one.
    Occupied(Extent<Iova>),
    /// There is no memory for another node.
    NoMemory,
}

impl fmt::Display for ReserveAtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ragged(extent) => write!(f, "{extent:?} is not made of whole granules"),
            Self::Outside(space) => write!(f, "the space is {space:?}"),
            Self::Occupied(conflict) => write!(f, "{conflict:?} is reserved"),
            Self::NoMemory => f.write_str("there is no memory for another node"),
        }
    }
}

impl Error for ReserveAtError {}

/// The grant is of another space, or its extent has been released or cut by its address. It comes
/// back; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Stale(pub Grant);

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not what this space has granted",
            self.0.extent()
        )
    }
}

impl Error for Stale {}

/// Why an extent was not released by its address; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseError {
    /// Nothing of it is reserved.
    NotReserved,
    /// This one overlaps it, but is not the same.
    Partial(Extent<Iova>),
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReserved => f.write_str("nothing of it is reserved"),
            Self::Partial(owner) => write!(f, "{owner:?} is reserved as a whole"),
            Self::Ragged(extent) => write!(f, "{extent:?} is not made of whole granules"),
        }
    }
}

impl Error for ReleaseError {}
