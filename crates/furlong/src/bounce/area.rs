//! The seam `area`: how the free slots of an area are shared.
//!
//! Linux has a lock and a list of run lengths an area. Here both arms have a bitmap a segment; they
//! take the same slots of the same pool, and differ in how a CPU keeps others from them.
#![forbid(unsafe_code)]

use super::counters::Counters;
pub use super::lock_free::LockFree;
pub use super::locked::Locked;
use super::need::Need;
use super::store::Store;

pub(super) mod sealed {
    use super::{Counters, Need, Pass, Shape, Store, Taken};

    /// The free slots of an area. Slots are numbered from 0 in the area.
    pub trait Slots: Sized + Send + Sync {
        /// An area of this shape in which every slot is taken; `None` if there is no memory.
        fn try_new(shape: Shape, store: &Store) -> Option<Self>;

        /// Bytes that it takes from a store.
        fn footprint(shape: Shape) -> usize;

        /// Takes the first run that does, from a segment on and then from the lowest one on; `from`
        /// says where slot 0 is, and which segment. What was done with the slots by whoever had
        /// them before happens before the return.
        fn take<K: Counters>(
            &self,
            need: &Need,
            from: (u64, usize),
            pass: Pass,
            counters: &K,
        ) -> Taken;

        /// Gives `len` slots back that were taken together and are in one segment.
        fn give<K: Counters>(&self, slot: usize, len: u32, counters: &K);

        /// Takes exactly these slots, which are in one segment, if all of them are free.
        fn take_at(&self, slot: usize, len: u32) -> bool;

        /// Whether there is a run that does, at this moment.
        fn fits(&self, need: &Need, first: u64) -> bool;

        /// Puts the caller into the order of all gives: of each one it sees what was given, or
        /// whoever gives sees what the caller did before.
        fn settle(&self);

        /// Takes every slot if all of them are free; else none is taken.
        fn close(&self) -> bool;

        /// Gives every slot back that `close` took.
        fn reopen(&self);

        /// The same for an area that is new to whoever takes from it: no slot was taken yet.
        fn open(&self) {
            self.reopen();
            self.reset_high_water();
        }

        /// The number of free slots.
        fn free(&self) -> usize;

        /// The free slots of a segment.
        fn word(&self, segment: usize) -> u128;

        /// How many slots were taken at a time, at most.
        fn high_water(&self) -> usize;

        /// Begins to count anew from what is taken now.
        fn reset_high_water(&self);
    }
}

/// How the free slots of an area are shared. The trait is sealed: [`Locked`] and [`LockFree`].
pub trait Area: sealed::Slots + 'static {
    /// Slots of a segment, a power of two up to 128: no mapping is longer. Less than
    /// [`SEGMENT`](super::SEGMENT) is for tests, in which borders are to be common.
    const SEGMENT: usize;
}

/// How many slots an area has, in how many segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots, a multiple of those of a segment.
    pub(super) slots: usize,
    /// Slots of a segment: less than the arm's only where the area has no more.
    pub(super) segment: usize,
    pub(super) segments: usize,
}

impl Shape {
    /// So many slots, in segments of a power of two of which they are a multiple.
    pub(super) const fn new(slots: usize, segment: usize) -> Self {
        Self {
            slots,
            segment,
            segments: slots / segment,
        }
    }

    /// The segment that is asked first in this turn: 0, 4, 2, 6, 1, 5, 3 and 7 of eight, and then 0
    /// again. So those who share an area keep out of each other's cache lines, and each has as many
    /// segments before it as there can be.
    ///
    /// These are the bits of the turn from behind, as many as the segments have a power of two.
    #[inline(always)]
    pub(super) fn begin(&self, turn: usize) -> usize {
        match turn {
            0 => 0,
            _ => self.begin_further(turn),
        }
    }

    #[inline(never)]
    fn begin_further(&self, turn: usize) -> usize {
        let bits = self.segments.ilog2();
        turn.reverse_bits() >> 1 >> (usize::BITS - 1 - bits)
    }
}

/// What a search learns of full segments: it goes from a segment to the last one, and from the
/// lowest that is not known to be full to where it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    begin: usize,
    /// Between `begin` and it all were full.
    past: usize,
    /// Below it all are full.
    pub(super) lowest: usize,
}

impl Search {
    /// From `begin` on, where all below `lowest` are full.
    pub(super) fn new(begin: usize, lowest: usize) -> Self {
        let begin = begin.max(lowest);
        Self {
            begin,
            past: begin,
            lowest,
        }
    }

    /// So many segments in their order.
    pub(super) fn order(&self, segments: usize) -> impl Iterator<Item = usize> + use<> {
        (self.begin..segments).chain(self.lowest..self.begin)
    }

    /// A segment was full: whether more is known now.
    pub(super) fn full(&mut self, segment: usize) -> bool {
        let before = self.lowest;
        self.past += usize::from(segment == self.past);
        self.lowest += usize::from(segment == self.lowest);
        if self.lowest == self.begin {
            self.lowest = self.past;
        }
        self.lowest != before
    }
}

/// Segment of a slot of an area, and its number there, where the arm's segments have `segment`
/// slots. It is right in an area of fewer slots too, for that has one segment.
#[inline(always)]
pub(super) const fn split(slot: usize, segment: usize) -> (usize, u32) {
    (slot / segment, (slot % segment) as u32)
}

/// How hard a search for a run tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// It may pass over what was full when somebody last looked.
    First,
    /// It looks everywhere.
    Thorough,
}

/// What came of taking a run: its first slot in the area, if there was one; and whether slots were
/// taken and given back meanwhile, so that another may have missed them. One word, so that it stays
/// in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken(u64);

impl Taken {
    const ROLLED_BACK: u64 = 1 << 63;
    /// A slot that no area has.
    const NONE: u64 = Self::ROLLED_BACK - 1;

    #[inline]
    pub(super) const fn some(slot: usize) -> Self {
        Self(slot as u64)
    }

    #[inline]
    pub(super) const fn none() -> Self {
        Self(Self::NONE)
    }

    /// With slots that were given back meanwhile.
    pub(super) const fn rolled_back_if(self, rolled_back: bool) -> Self {
        Self(self.0 | (rolled_back as u64) << 63)
    }

    /// The same where the area begins at a slot: a run was taken.
    #[inline]
    pub(super) const fn behind(self, begin: usize) -> Self {
        Self(self.0 + begin as u64)
    }

    #[inline]
    pub(super) const fn slot(self) -> Option<usize> {
        let slot = self.0 & Self::NONE;
        if slot == Self::NONE {
            return None;
        }
        Some(slot as usize)
    }

    #[inline]
    pub(super) const fn rolled_back(self) -> bool {
        self.0 & Self::ROLLED_BACK != 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Search, Shape};

    #[test]
    fn whoever_shares_an_area_begins_as_far_from_others_as_there_is_room() {
        let begins = |segments: usize, turns: usize| {
            let shape = Shape::new(segments * 128, 128);
            (0..turns).map(|turn| shape.begin(turn)).collect::<Vec<_>>()
        };
        assert_eq!(begins(1, 4), [0; 4]);
        assert_eq!(begins(2, 4), [0, 1, 0, 1]);
        assert_eq!(begins(3, 4), [0, 1, 0, 1]);
        assert_eq!(begins(8, 9), [0, 4, 2, 6, 1, 5, 3, 7, 0]);
        assert_eq!(Shape::new(1024, 128).begin(usize::MAX), 7);
    }

    #[test]
    fn a_search_looks_at_every_segment_once_that_is_not_known_to_be_full() {
        for segments in 1..6_usize {
            for (begin, lowest) in (0..36).map(|both| (both / 6, both % 6)) {
                if begin >= segments || lowest > segments {
                    continue;
                }
                let seen: Vec<_> = Search::new(begin, lowest).order(segments).collect();
                let later = (lowest..segments).filter(|segment| *segment >= begin);
                let before = lowest..begin.min(segments);
                assert!(seen.iter().copied().eq(later.chain(before)), "{seen:?}");
            }
        }
    }

    #[test]
    fn what_was_full_is_known_from_the_lowest_one_on() {
        // From 3 on all are full, then 0 and 1; 2 is not looked at.
        let mut search = Search::new(3, 0);
        assert!(![3, 4].map(|segment| search.full(segment)).contains(&true));
        assert!(search.full(0) && search.full(1) && search.lowest == 2);
        // Of 3, 4 and 5 that is known already.
        let last = search.full(5);
        assert!(!last && search.full(2) && search.lowest == 6);
        // A gap ends it.
        let mut search = Search::new(1, 0);
        assert!(!search.full(2) && search.full(0) && search.lowest == 1);
    }
}
