//! What a page is, in a word: its area's extent and all that is the same for the whole area.
#![forbid(unsafe_code)]

use core::fmt;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Area, Config, Hold, Space, Value};

/// Pages that are changed and looked at.
pub(super) const PAGES: usize = 96;

/// The first of them.
const FIRST: u64 = 0x100;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// What a page is; 0 if nothing is mapped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

/// The bits of the extent.
const EXTENT: u64 = 0xffff;

impl Word {
    /// Nothing is mapped.
    pub(super) const NONE: Self = Self(0);

    /// Of an area whose object is `object`.
    pub(super) fn of<A>(area: &Area<'_, A>, object: u64) -> Self {
        let first = (area.extent.start().raw() / PAGE).wrapping_sub(FIRST);
        let last = (area.extent.last().raw() / PAGE).wrapping_sub(FIRST);
        let origin = (area.offset / PAGE).wrapping_sub(FIRST).wrapping_sub(first);
        let bits = u64::from(area.prot.bits() | area.may.bits() << 3);
        let flags = u64::from(area.flags.bits());
        let extent = (first & 0xff) << 8 | last & 0xff;
        Self(1 << 63 | object << 48 | flags << 32 | bits << 24 | (origin & 0xff) << 16 | extent)
    }

    /// The first and the last page of the area.
    pub(super) fn extent(self) -> Option<(usize, usize)> {
        let pages = ((self.0 >> 8 & 0xff) as usize, (self.0 & 0xff) as usize);
        (self != Self::NONE).then_some(pages)
    }

    /// Whether both are alike in all but their extents.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.0 & !EXTENT == other.0 & !EXTENT
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent() {
            None => f.write_str("nothing"),
            Some((first, last)) => write!(f, "pages {first} to {last} as {:x}", self.0 >> 16),
        }
    }
}

/// The first byte of a page.
pub(super) fn address(page: usize) -> VirtAddr {
    VirtAddr::new((FIRST + page as u64) * PAGE)
}

/// What all pages of a space are.
pub(super) fn words<A: Value, C: Config, H: Hold>(
    space: &Space<A, C, H>,
    object: impl Fn(&A) -> u64,
) -> [Word; PAGES] {
    let mut words = [Word::NONE; PAGES];
    for area in space.areas() {
        let word = Word::of(&area, object(area.value));
        if let Some((first, last)) = word.extent() {
            words[first..=last].fill(word);
        }
    }
    words
}
