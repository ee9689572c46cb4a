//! Areas: what is known of a stretch of pages that were mapped alike.
#![forbid(unsafe_code)]

use super::{Flags, Pages, Prot};
use crate::addr::{Extent, VirtAddr};

/// What the caller keeps with an area: the object that is mapped, or nothing.
///
/// Where an area is cut, both parts have a clone, which must not fail: keep what is large behind a
/// reference or an `Arc`.
///
/// It goes to whatever thread changes or drops the area; where readers look at it from theirs, in a
/// [`Shared`](super::Shared) that several threads have, it is [`Sync`] as well.
pub trait Value: Clone + Send + 'static {
    /// Whether this area and the one right behind it, whose value is `next`, may become one. It is
    /// asked where everything else is equal and the offsets go on; the answer has to be transitive.
    /// Of two areas that become one, the value of the first stays.
    fn merges(&self, next: &Self) -> bool;
}

/// Nothing to tell apart.
impl Value for () {
    fn merges(&self, (): &()) -> bool {
        true
    }
}

/// The number of an object.
impl Value for u32 {
    fn merges(&self, next: &Self) -> bool {
        self == next
    }
}

/// The number of an object.
impl Value for u64 {
    fn merges(&self, next: &Self) -> bool {
        self == next
    }
}

/// What is the same for all pages of an area, but its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attr {
    /// What may be done.
    pub prot: Prot,
    /// What [`protect`](super::Space::protect) may allow.
    pub may: Prot,
    /// What else is true.
    pub flags: Flags,
    /// What a page's offset in the object is more than the page's number, in pages, modulo 2^64.
    /// Anonymous memory has 0. Cutting an area and moving its ends leave it as it is, and two
    /// neighbours whose offsets go on have the same.
    pub origin: u64,
}

impl Attr {
    /// Of no area.
    pub(super) const NONE: Self = Self {
        prot: Prot::NONE,
        may: Prot::NONE,
        flags: Flags::NONE,
        origin: 0,
    };
}

/// An area of a space, as it is seen.
#[derive(Debug, PartialEq, Eq)]
pub struct Area<'a, A> {
    /// Where it is.
    pub extent: Extent<VirtAddr>,
    /// What may be done.
    pub prot: Prot,
    /// What [`protect`](super::Space::protect) may allow.
    pub may: Prot,
    /// What else is true.
    pub flags: Flags,
    /// Where in its object it begins, in bytes; for anonymous memory its own address.
    pub offset: u64,
    /// What the caller keeps with it.
    pub value: &'a A,
}

impl<A> Clone for Area<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Area<'_, A> {}

/// An area in the index.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a, A> {
    /// Its pages.
    pub pages: Pages,
    /// What is the same for all of them.
    pub attr: Attr,
    /// What the caller keeps with it.
    pub value: &'a A,
}

impl<A> Clone for Entry<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Entry<'_, A> {}

/// A part of an area, or all of it, that is in the index no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<A> {
    /// Its pages.
    pub pages: Pages,
    /// What was the same for all of them.
    pub attr: Attr,
    /// What the caller kept with it, where nothing else of the area is left.
    pub value: Option<A>,
}

/// What a change hands back, so that the caller can drop it where it suits: after its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed<A> {
    /// This is mapped no more.
    Unmapped(Unmapped<A>),
    /// An area is now part of the one before it, whose value stands for both.
    Merged(A),
}

/// What is mapped no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmapped<A> {
    /// Where it was.
    pub extent: Extent<VirtAddr>,
    /// What could be done.
    pub prot: Prot,
    /// What else was true.
    pub flags: Flags,
    /// Where in its object it began, in bytes.
    pub offset: u64,
    /// What the caller kept with it, where nothing else of the area is left.
    pub value: Option<A>,
}
