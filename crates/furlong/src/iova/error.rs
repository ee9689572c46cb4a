//! Error types, one for each operation. An operation that returns one has changed nothing.

use crate::error::messages;

use super::Grant;
use crate::addr::{Extent, Iova};

messages! {
    /// Reason why a space cannot be created.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GeometryError {
        /// The granule, in bytes, is 0 or not a power of two.
        Granule(n: u64) => "the granule, {n} bytes, is not a power of two";
        /// The first byte of the space does not begin a granule, or its last byte does not end one.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
    }
}

messages! {
    /// Reason why a space was not extended; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ExtendError {
        /// The first byte does not begin a granule, or the last byte does not end one.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
        /// It does not contain the whole space, which is given here.
        Smaller(it: Extent<Iova>) => "the space is {it:?}, and cannot shrink";
    }
}

messages! {
    /// Reason why nothing was reserved; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReserveError {
        /// The size is 0.
        ZeroSize => "the size is 0";
        /// The alignment is 0 or not a power of two.
        Align(n: u64) => "the alignment, {n}, is not a power of two";
        /// The offset is not less than a granule.
        Offset(n: u64) => "the offset, {n}, must be less than a granule";
        /// The boundary is 0 or not a power of two.
        Boundary(n: u64) => "the boundary, {n}, is not a power of two";
        /// The data cannot avoid crossing the boundary, and may not be split.
        CrossesBoundary {
            /// Bytes of data.
            size: u64,
            /// The boundary: data may not cross a multiple of it.
            boundary: u64,
        } => "{size} bytes always cross a multiple of {boundary}";
        /// The window ends before it begins.
        Window {
            /// First address of the window.
            low: Iova,
            /// Last address of the window.
            high: Iova,
        } => "the window {low}..={high} is reversed";
        /// Offset, size and guards together exceed 64 bits; no space is that large.
        TooLarge(n: u64) => "{n} bytes with guards fit no space";
        /// No gap satisfies the request.
        NoSpace {
            /// Bytes that a gap needs for the request: the data in whole granules, plus guards.
            wanted: u64,
            /// Bytes of the largest gap anywhere in the space; `u64::MAX` stands for 2^64.
            largest: u64,
        } => "no gap fits {wanted} bytes; the largest has {largest}";
        /// No place that respects the boundary was found, but some large enough gaps were not
        /// inspected. Neither a space whose measure knows the boundary
        /// ([`Boundary`](super::Boundary)) nor [`Best`](super::Best), which inspects every gap,
        /// gives up.
        GaveUp(n: u64) => "too many gaps cross the boundary of {n} to search them all";
        /// Out of memory for another node.
        NoMemory => "out of memory for another node";
    }
}

messages! {
    /// Reason why an extent was not reserved; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReserveAtError {
        /// It is not made of whole granules.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
        /// Part of it lies outside the space.
        Outside(it: Extent<Iova>) => "the space is {it:?}";
        /// It overlaps this extent.
        Occupied(it: Extent<Iova>) => "{it:?} is reserved";
        /// Out of memory for another node.
        NoMemory => "out of memory for another node";
    }
}

/// The grant belongs to another space, or its extent has been released or cut by its address. The
/// grant is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Stale(pub Grant);

messages! { Stale:
    Self(it) => "{:?} was not granted by this space", it.extent();
}

messages! {
    /// Reason why an extent was not released by its address; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReleaseError {
        /// None of it is reserved.
        NotReserved => "no part of it is reserved";
        /// This extent overlaps it, but is not equal to it.
        Partial(it: Extent<Iova>) => "{it:?} is reserved as a whole";
        /// It is not made of whole granules.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
        /// A grant or a token of it is outstanding, or the [`Domain`](super::Domain) keeps it for
        /// another reservation. A [`Space`](super::Space) does not refuse so.
        Granted => "its grant has not been given up";
    }
}
