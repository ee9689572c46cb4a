//! A CPU's stacks of freed extents of one size class.

use alloc::vec::Vec;

use super::class::Wanted;
use crate::addr::{Address, Iova};
use crate::error::reserved;
use crate::iova::quarantine::tag::Tag;
use crate::iova::quarantine::token::{Parked, Token};
use crate::rbtree::NodeId;

/// A freed extent in a magazine. It stays reserved in the tree, by this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: Iova,
    pub(super) at: NodeId,
}

impl Entry {
    #[inline]
    pub(super) fn of(parked: &Parked) -> Self {
        Self {
            start: parked.start,
            at: parked.at,
        }
    }

    /// A token for the extent, whose length is `mask + 1`.
    #[inline]
    pub(super) fn into_token(self, tag: Tag, mask: u64) -> Token {
        Token::from_parked(Parked {
            at: self.at,
            tag,
            start: self.start,
            last: Iova::new(self.start.raw() + mask),
        })
    }
}

/// A stack of freed extents of one size class. Without memory, as in [`NONE`](Self::NONE), it is
/// both empty and full.
#[derive(Debug)]
pub(super) struct Magazine {
    entries: Vec<Entry>,
}

impl Magazine {
    /// No magazine.
    pub(super) const NONE: Self = Self {
        entries: Vec::new(),
    };

    /// An empty magazine for `rounds` extents; `None` if out of memory.
    pub(super) fn try_new(rounds: usize) -> Option<Self> {
        let entries = reserved(rounds).ok()?;
        Some(Self { entries })
    }

    /// True if it has memory.
    #[inline]
    pub(super) fn is_some(&self) -> bool {
        self.entries.capacity() > 0
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// # Errors
    /// The entry is returned if the magazine is full; it never allocates.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) -> Result<(), Entry> {
        if self.is_full() {
            return Err(entry);
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Removes the last entry.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Entry> {
        self.entries.pop()
    }

    /// Removes the last entry that suits; without limits that is the last one.
    #[inline]
    pub(super) fn take_suiting(&mut self, wanted: &Wanted) -> Option<Entry> {
        let last = self.entries.last()?;
        if wanted.suits(last.start) {
            return self.entries.pop();
        }
        self.search(wanted)
    }

    #[cold]
    fn search(&mut self, wanted: &Wanted) -> Option<Entry> {
        let suits = |entry: &Entry| wanted.suits(entry.start);
        let found = self.entries.iter().rposition(suits)?;
        Some(self.entries.swap_remove(found))
    }
}

/// A CPU's two magazines of one size class. With a single one, a CPU that reserves and frees
/// alternately at its limit would visit the depot each time.
pub(super) struct Shelf {
    loaded: Magazine,
    previous: Magazine,
}

impl Shelf {
    pub(super) const EMPTY: Self = Self {
        loaded: Magazine::NONE,
        previous: Magazine::NONE,
    };

    /// True if both magazines are empty.
    pub(super) fn is_empty(&self) -> bool {
        self.loaded.is_empty() && self.previous.is_empty()
    }

    pub(super) fn magazines(&self) -> [&Magazine; 2] {
        [&self.loaded, &self.previous]
    }

    pub(super) fn into_magazines(self) -> [Magazine; 2] {
        [self.loaded, self.previous]
    }

    /// # Errors
    /// The entry is returned if both magazines are full.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) -> Result<(), Entry> {
        if self.loaded.is_full() && !self.previous.is_full() {
            core::mem::swap(&mut self.loaded, &mut self.previous);
        }
        self.loaded.put(entry)
    }

    /// Removes the latest suitable entry.
    #[inline]
    pub(super) fn take(&mut self, wanted: &Wanted) -> Option<Entry> {
        if self.loaded.is_empty() && !self.previous.is_empty() {
            core::mem::swap(&mut self.loaded, &mut self.previous);
        }
        let found = self.loaded.take_suiting(wanted);
        found.or_else(|| self.previous.take_suiting(wanted))
    }

    /// Replaces the older of two full magazines with an empty one, and returns it.
    pub(super) fn exchange_full(&mut self, empty: Magazine) -> Magazine {
        let loaded = core::mem::replace(&mut self.loaded, empty);
        core::mem::replace(&mut self.previous, loaded)
    }

    /// Replaces one of two empty magazines with a full one, and returns it.
    pub(super) fn exchange_empty(&mut self, full: Magazine) -> Magazine {
        let loaded = core::mem::replace(&mut self.loaded, full);
        // Keep the magazine with memory, so that the next freed extent has room.
        if self.previous.is_some() {
            loaded
        } else {
            core::mem::replace(&mut self.previous, loaded)
        }
    }

    /// Removes the older magazine and leaves none.
    pub(super) fn take_previous(&mut self) -> Magazine {
        core::mem::replace(&mut self.previous, Magazine::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::{CLASSES, Wanted};
    use super::{Entry, Magazine, Shelf};
    use crate::addr::{Address, Iova};
    use crate::iova::Request;
    use crate::rbtree::NodeId;

    const PAGE: u64 = 4096;

    fn entry(page: usize) -> Entry {
        Entry {
            start: Iova::new(page as u64 * PAGE),
            at: NodeId::from_index(page).unwrap(),
        }
    }

    fn filled(rounds: usize, pages: core::ops::Range<usize>) -> Magazine {
        let mut magazine = Magazine::try_new(rounds).unwrap();
        for page in pages {
            magazine.put(entry(page)).unwrap();
        }
        magazine
    }

    /// Pages at `low..=high`.
    fn wanted(low: u64, high: u64) -> Wanted {
        let request =
            Request::new(PAGE).window(Iova::new(low * PAGE), Iova::new(high * PAGE + PAGE - 1));
        Wanted::new(&request, 12, CLASSES).unwrap()
    }

    fn pages(magazine: &Magazine) -> Vec<u64> {
        let pages = magazine
            .entries()
            .iter()
            .map(|entry| entry.start.raw() / PAGE);
        pages.collect()
    }

    #[test]
    fn no_magazine_is_both_empty_and_full() {
        let mut none = Magazine::NONE;
        assert!(none.is_empty() && none.is_full() && !none.is_some());
        assert_eq!(none.put(entry(1)), Err(entry(1)));
        assert_eq!(none.take(), None);
    }

    #[test]
    fn a_magazine_larger_than_memory_is_not_had() {
        assert!(Magazine::try_new(isize::MAX as usize).is_none());
    }

    #[test]
    fn the_last_one_that_suits_is_taken_from_the_top() {
        let mut magazine = filled(8, 0..8);
        assert_eq!(magazine.take_suiting(&wanted(0, 99)), Some(entry(7)));
        assert_eq!(magazine.take_suiting(&wanted(1, 3)), Some(entry(3)));
        assert_eq!(pages(&magazine), [0, 1, 2, 6, 4, 5]);
        assert_eq!(magazine.take_suiting(&wanted(7, 9)), None);
        assert_eq!(magazine.entries().len(), 6);
    }

    #[test]
    fn a_shelf_gives_all_that_was_put_into_it_latest_first() {
        let mut shelf = Shelf {
            loaded: filled(3, 0..0),
            previous: filled(3, 0..0),
        };
        for page in 0..6 {
            shelf.put(entry(page)).unwrap();
        }
        assert_eq!(shelf.put(entry(6)), Err(entry(6)));
        for page in (0..6).rev() {
            assert_eq!(shelf.take(&wanted(0, 99)), Some(entry(page)));
        }
        assert!(shelf.is_empty() && shelf.take(&wanted(0, 99)).is_none());
    }

    #[test]
    fn what_suits_is_found_in_the_previous_magazine_too() {
        let mut shelf = Shelf {
            loaded: filled(3, 0..3),
            previous: filled(3, 3..6),
        };
        assert_eq!(shelf.take(&wanted(4, 4)), Some(entry(4)));
        assert_eq!(shelf.take(&wanted(4, 4)), None);
    }

    #[test]
    fn the_magazine_that_has_extents_takes_the_place_of_an_empty_one() {
        let mut shelf = Shelf {
            loaded: filled(3, 0..0),
            previous: filled(3, 3..6),
        };
        assert_eq!(shelf.take(&wanted(0, 99)), Some(entry(5)));
        assert_eq!(pages(&shelf.loaded), [3, 4]);
        assert!(shelf.previous.is_empty());
    }

    #[test]
    fn the_older_of_two_full_magazines_goes() {
        let mut shelf = Shelf {
            loaded: filled(2, 0..2),
            previous: filled(2, 2..4),
        };
        let full = shelf.exchange_full(filled(2, 0..0));
        assert_eq!(pages(&full), [2, 3]);
        shelf.put(entry(9)).unwrap();
        assert_eq!(pages(&shelf.loaded), [9]);
        assert_eq!(pages(&shelf.previous), [0, 1]);
    }

    #[test]
    fn a_full_magazine_comes_for_an_empty_one_with_memory_if_both_have_it() {
        let mut shelf = Shelf {
            loaded: Magazine::NONE,
            previous: filled(2, 0..0),
        };
        assert!(!shelf.exchange_empty(filled(2, 0..2)).is_some());
        assert!(shelf.previous.is_some());
        for _ in 0..2 {
            shelf.take(&wanted(0, 99)).unwrap();
        }
        let empty = shelf.exchange_empty(filled(2, 2..4));
        assert!(empty.is_some() && empty.is_empty());
        assert_eq!(pages(&shelf.loaded), [2, 3]);
    }
}
