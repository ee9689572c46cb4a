//! The state of a page in one word: its area's extent and the area's other properties.

use core::fmt;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Area, Config, Hold, Space, Value};

/// The number of pages that are changed and looked up.
pub(super) const PAGES: usize = 96;

/// Number of the first page.
const FIRST: u64 = 0x100;

/// Bytes in a page.
pub(super) const PAGE: u64 = 4096;

/// The state of a page; 0 if it is not mapped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

/// Mask of the bits that hold the extent.
const EXTENT: u64 = 0xffff;

impl Word {
    /// A page that is not mapped.
    pub(super) const NONE: Self = Self(0);

    /// The state of a page in `area`, whose object is `object`.
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

    /// True if both are equal except for their extents.
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

/// The first address of a page.
pub(super) fn address(page: usize) -> VirtAddr {
    VirtAddr::new((FIRST + page as u64) * PAGE)
}

/// The states of all pages of a space.
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
