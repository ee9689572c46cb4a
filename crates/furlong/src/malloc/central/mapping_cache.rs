//! Mappings of freed huge objects, kept for reuse: their pages need not be zeroed and mapped again.

use crate::malloc::Word;
use crate::sync::record;

use super::arena::HUGE_PAGE;

const PLACES: usize = 16;

record! {
    /// A mapping, by its address; 0 is none.
    #[derive(Debug)]
    struct Place {
        base: Word = Word::new(0),
        len: Word = Word::new(0),
    }
    const fn none;
}

record! {
    /// Kept mappings, the oldest first. They belong to the pool, under its latch.
    #[derive(Debug)]
    pub(crate) struct MappingCache {
        places: [Place; PLACES] = [const { Place::none() }; PLACES],
        bytes: Word = Word::new(0),
        /// The number of mappings, from the first, that were already kept at the last round.
        idle: Word = Word::new(0),
    }
    pub(crate) const fn new;
}

impl MappingCache {
    /// The total size of all kept mappings.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    fn count(&self) -> usize {
        self.places
            .iter()
            .take_while(|place| place.base.get() != 0)
            .count()
    }

    /// Keeps a mapping; `false` if there is no slot for it.
    pub(crate) fn put(&self, base: usize, len: usize) -> bool {
        let Some(place) = self.places.get(self.count()) else {
            return false;
        };
        place.base.set(base);
        place.len.set(len);
        self.bytes.set(self.bytes.get() + len);
        true
    }

    /// Removes the mapping in a slot.
    pub(crate) fn take(&self, at: usize) -> Option<(usize, usize)> {
        let place = self.places.get(at).filter(|place| place.base.get() != 0)?;
        let taken = (place.base.get(), place.len.get());
        for (to, from) in self.places[at..].iter().zip(&self.places[at + 1..]) {
            to.base.set(from.base.get());
            to.len.set(from.len.get());
        }
        self.places[PLACES - 1].base.set(0);
        self.bytes.set(self.bytes.get() - taken.1);
        if at < self.idle.get() {
            self.idle.set(self.idle.get() - 1);
        }
        Some(taken)
    }

    /// Removes the end of the oldest mapping, these many bytes at least, so that what stays is a
    /// multiple of a huge page; all of it if nothing stays.
    pub(crate) fn cut_oldest(&self, least: usize) -> Option<(usize, usize)> {
        let place = &self.places[0];
        let (base, have) = (place.base.get(), place.len.get());
        let left = have.saturating_sub(least) / HUGE_PAGE * HUGE_PAGE;
        if base == 0 || left == 0 {
            return self.take(0);
        }
        place.len.set(left);
        self.bytes.set(self.bytes.get() - (have - left));
        Some((base + left, have - left))
    }

    /// Removes a mapping that was already kept at the last round. Once there is none left, returns
    /// `None` and marks all current mappings for the next round.
    pub(crate) fn take_idle(&self) -> Option<(usize, usize)> {
        if self.idle.get() > 0 {
            return self.take(0);
        }
        self.idle.set(self.count());
        None
    }

    /// Removes the mapping that is best for an object of this length: the shortest that is long
    /// enough, or else the longest.
    pub(crate) fn take_for(&self, len: usize) -> Option<(usize, usize)> {
        let places = self.places[..self.count()].iter().enumerate();
        let fit = |place: &Place| {
            let have = place.len.get();
            (
                have >= len,
                if have >= len { usize::MAX - have } else { have },
            )
        };
        let (at, _) = places.max_by_key(|(_, place)| fit(place))?;
        self.take(at)
    }
}

#[cfg(test)]
mod tests {
    use super::{HUGE_PAGE, MappingCache, PLACES};

    #[test]
    fn the_best_kept_mapping_is_taken_and_all_are_counted() {
        let kept = MappingCache::new();
        for (base, len) in [(10, 300), (20, 100), (30, 200)] {
            assert!(kept.put(base, len));
        }
        assert_eq!((kept.bytes(), kept.count()), (600, 3));
        assert_eq!(kept.take_for(150), Some((30, 200)));
        assert_eq!(kept.take_for(1000), Some((10, 300)));
        assert_eq!(kept.take_for(1), Some((20, 100)));
        assert_eq!((kept.take_for(1), kept.bytes()), (None, 0));
    }

    #[test]
    fn the_oldest_mapping_loses_huge_pages_at_its_end_and_goes_when_it_has_one() {
        let kept = MappingCache::new();
        let (huge, part) = (HUGE_PAGE, HUGE_PAGE / 2);
        let len = 3 * huge + part;
        assert_eq!(kept.cut_oldest(1), None);
        assert!(kept.put(8 * huge, len) && kept.put(huge, huge));
        for (least, left) in [(1, 3 * huge), (huge, 2 * huge), (1, huge)] {
            let before = kept.bytes() - huge;
            let cut = (8 * huge + left, before - left);
            assert_eq!(kept.cut_oldest(least), Some(cut));
            assert_eq!(kept.bytes(), left + huge);
        }
        assert_eq!(kept.cut_oldest(1), Some((8 * huge, huge)));
        assert_eq!(kept.cut_oldest(9 * huge), Some((huge, huge)));
        assert_eq!((kept.cut_oldest(1), kept.bytes()), (None, 0));
    }

    #[test]
    fn what_nobody_took_between_two_rounds_goes_and_the_rest_stays() {
        let kept = MappingCache::new();
        assert!(kept.put(10, 300) && kept.put(20, 100));
        assert_eq!(kept.take_idle(), None);
        assert_eq!(kept.take_for(300), Some((10, 300)));
        assert!(kept.put(30, 200));
        assert_eq!(kept.take_idle(), Some((20, 100)));
        assert_eq!(kept.take_idle(), None);
        assert_eq!(kept.take_idle(), Some((30, 200)));
        assert_eq!((kept.take_idle(), kept.bytes()), (None, 0));
    }

    #[test]
    fn the_oldest_goes_first_and_a_full_store_refuses() {
        let kept = MappingCache::new();
        for base in 1..=PLACES {
            assert!(kept.put(base, 1));
        }
        assert!(!kept.put(99, 1));
        for base in 1..=PLACES {
            assert_eq!(kept.take(0), Some((base, 1)));
        }
        assert_eq!(kept.take(0), None);
    }
}
