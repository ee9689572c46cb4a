//! Areas: ranges of pages with the same mapping.

use super::{Flags, Pages, Prot};
use crate::addr::{Extent, VirtAddr};
use crate::forms::copies;

/// The caller's data for an area: a handle of the mapped object, or nothing.
///
/// If an area is cut, each part has a clone. A clone must not fail: keep large data behind a
/// reference or an `Arc`.
///
/// The value moves to the thread that changes or drops the area. In a [`Shared`](super::Shared)
/// used by several threads, readers use it from theirs, so it must be [`Sync`] as well.
pub trait Value: Clone + Send + 'static {
    /// True if this area and the one right behind it, whose value is `next`, may be merged. It is
    /// called if all else is equal and the offsets continue; the result must be transitive. The
    /// merged area keeps one of the values, and the others come back as [`Freed::Merged`].
    fn merges(&self, next: &Self) -> bool;
}

/// No value: all areas merge.
impl Value for () {
    fn merges(&self, (): &()) -> bool {
        true
    }
}

/// An object number: areas of the same object merge.
impl Value for u32 {
    fn merges(&self, next: &Self) -> bool {
        self == next
    }
}

/// An object number: areas of the same object merge.
impl Value for u64 {
    fn merges(&self, next: &Self) -> bool {
        self == next
    }
}

/// The attributes that all pages of an area share, apart from its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attr {
    /// The flags, above them the allowed accesses, and above these the ones that may be allowed. A
    /// fork copies all of them as one word.
    bits: u32,
    /// The difference of a page's offset in the object and its page number, in pages, modulo 2^64.
    /// Anonymous memory has 0. Cutting an area or moving its ends does not change it. Two
    /// neighbours with continuous offsets have the same origin.
    pub origin: u64,
}

impl Attr {
    const PROT: u32 = u16::BITS;
    const MAY: u32 = Self::PROT + Prot::ALL.bits().count_ones();

    /// The attributes of no area.
    pub(super) const NONE: Self = Self { bits: 0, origin: 0 };

    /// Attributes without an origin. Of the accesses, only the [known](Prot::known) ones are kept.
    #[inline]
    #[must_use]
    pub const fn new(prot: Prot, may: Prot, flags: Flags) -> Self {
        let access = prot.known().bits() << Self::PROT | may.known().bits() << Self::MAY;
        Self {
            bits: access | flags.bits() as u32,
            origin: 0,
        }
    }

    /// The allowed accesses.
    #[inline]
    #[must_use]
    pub const fn prot(self) -> Prot {
        Prot::from_bits(self.bits >> Self::PROT).known()
    }

    /// The accesses that [`protect`](super::Space::protect) may allow.
    #[inline]
    #[must_use]
    pub const fn may(self) -> Prot {
        Prot::from_bits(self.bits >> Self::MAY)
    }

    /// Further properties.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> Flags {
        Flags::from_bits(self.bits as u16)
    }

    pub(super) const fn with_prot(self, prot: Prot) -> Self {
        let new = Self::new(prot, self.may(), self.flags());
        new.with_origin(self.origin)
    }

    pub(super) const fn with_flags(self, flags: Flags) -> Self {
        let new = Self::new(self.prot(), self.may(), flags);
        new.with_origin(self.origin)
    }

    pub(super) const fn with_origin(self, origin: u64) -> Self {
        Self { origin, ..self }
    }
}

/// A view of an area of a space.
#[derive(Debug, PartialEq, Eq)]
pub struct Area<'a, A> {
    /// The addresses of the area.
    pub extent: Extent<VirtAddr>,
    /// The allowed accesses.
    pub prot: Prot,
    /// The accesses that [`protect`](super::Space::protect) may allow.
    pub may: Prot,
    /// Further properties.
    pub flags: Flags,
    /// The offset of its start in its object, in bytes; for anonymous memory its own address.
    pub offset: u64,
    /// The caller's value.
    pub value: &'a A,
}

copies! { Area<'_, A> where [A]; }

/// An area in the index.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a, A> {
    /// The pages of the area.
    pub pages: Pages,
    /// The attributes of all its pages.
    pub attr: Attr,
    /// The caller's value.
    pub value: &'a A,
}

copies! { Entry<'_, A> where [A]; }

/// A part of an area, or a whole one, that was removed from the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<A> {
    /// Its pages.
    pub pages: Pages,
    /// The attributes that all of them had.
    pub attr: Attr,
    /// The caller's value, if no other part of the area is left.
    pub value: Option<A>,
}

/// An item that a change hands back, so that the caller can drop it after releasing the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed<A> {
    /// A range was unmapped.
    Unmapped(Unmapped<A>),
    /// An area was merged with a neighbour, whose value now stands for both. This is its own.
    Merged(A),
}

/// A range that was unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmapped<A> {
    /// The addresses of the range.
    pub extent: Extent<VirtAddr>,
    /// The accesses that were allowed.
    pub prot: Prot,
    /// Its further properties.
    pub flags: Flags,
    /// The offset of its start in its object, in bytes.
    pub offset: u64,
    /// The caller's value, if no other part of the area is left.
    pub value: Option<A>,
}
