//! Ranges of whole pages, by number: every address of 64 bits has one, and so has the last.
#![forbid(unsafe_code)]

use core::fmt;

/// Pages from the first to the last, both inclusive, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pages {
    /// The first.
    pub first: u64,
    /// The last, not below the first.
    pub last: u64,
}

impl Pages {
    /// All that there could be.
    pub const ALL: Self = Self {
        first: 0,
        last: u64::MAX,
    };

    /// From `first` to `last`; `None` where that is reversed.
    #[inline]
    #[must_use]
    pub fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// `len` pages from `first`; `None` where there are none, or not so many.
    #[inline]
    #[must_use]
    pub fn of_len(first: u64, len: u64) -> Option<Self> {
        let last = first.checked_add(len.checked_sub(1)?)?;
        Some(Self { first, last })
    }

    /// How many. A page has two bytes at least, so it fits.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Whether `page` is one of them.
    #[inline]
    #[must_use]
    pub fn contains(&self, page: u64) -> bool {
        self.first <= page && page <= self.last
    }

    /// Whether all of `other` are.
    #[inline]
    #[must_use]
    pub fn covers(&self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// What is in both.
    #[inline]
    #[must_use]
    pub fn and(&self, other: Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// Whether they begin right behind the last of `self`.
    #[inline]
    #[must_use]
    pub fn abuts(&self, behind: Self) -> bool {
        self.last.checked_add(1) == Some(behind.first)
    }

    /// From the first of `self` to the last of `other`.
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
