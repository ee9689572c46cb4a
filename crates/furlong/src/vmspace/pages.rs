//! Ranges of whole pages, by page number. Every 64-bit address belongs to a page, even the last.

use core::fmt;

/// Pages from the first to the last, both inclusive, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pages {
    /// The first page.
    pub first: u64,
    /// The last page, not below the first.
    pub last: u64,
}

impl Pages {
    /// All possible pages.
    pub const ALL: Self = Self {
        first: 0,
        last: u64::MAX,
    };

    /// The pages from `first` to `last`; `None` if these are reversed.
    #[inline]
    #[must_use]
    pub fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// `len` pages from `first`; `None` if `len` is 0 or the end overflows.
    #[inline]
    #[must_use]
    pub fn of_len(first: u64, len: u64) -> Option<Self> {
        let last = first.checked_add(len.checked_sub(1)?)?;
        Some(Self { first, last })
    }

    /// The number of pages. It fits, because a page has at least two bytes.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// True if it contains `page`.
    #[inline]
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        self.first <= page && page <= self.last
    }

    /// The pages in both.
    #[inline]
    #[must_use]
    pub fn and(&self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// True if `behind` begins right behind the last page of `self`.
    #[inline]
    #[must_use]
    pub fn abuts(&self, behind: Self) -> bool {
        self.last.checked_add(1) == Some(behind.first)
    }

    /// The pages from the first of `self` to the last of `other`.
    #[inline]
    #[must_use]
    pub fn through(&self, other: Self) -> Self {
        Self {
            first: self.first,
            last: other.last,
        }
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pages {:#x}..={:#x}", self.first, self.last)
    }
}
