//! The trait of areas: how CPUs share the free slots of an area.
//!
//! Linux has a lock and a list of run lengths per area. Both arms here have a bitmap per segment.
//! They take the same slots of the same pool, and differ only in how they exclude other CPUs.

pub use super::lock_free::LockFree;
pub use super::locked::Locked;
use crate::bounce::{Counters, Need, Store};

pub(crate) mod sealed {
    use super::{Counters, Need, Pass, Shape, Store, Taken};

    /// The free slots of an area. Slots are numbered from 0 in the area.
    pub trait Slots: Sized + Send + Sync {
        /// Makes an area of this shape in which every slot is taken; `None` if out of memory.
        fn try_new(shape: Shape, store: &Store) -> Option<Self>;

        /// Bytes that it takes from a store.
        fn footprint(shape: Shape) -> usize;

        /// Takes the first run that satisfies `need`, from a segment to the last one and then from
        /// the lowest one. `from` has the device address of slot 0, and the segment. Accesses to
        /// the slots by their previous owner happen before the return.
        fn take<K: Counters>(
            &self,
            need: &Need,
            from: (u64, usize),
            pass: Pass,
            counters: &K,
        ) -> Taken;

        /// Frees `len` slots that were taken together and are in one segment.
        fn give<K: Counters>(&self, slot: usize, len: u32, counters: &K);

        /// Takes exactly these slots, which are in one segment, if all of them are free.
        fn take_at(&self, slot: usize, len: u32) -> bool;

        /// True if there is such a run at this moment.
        fn fits(&self, need: &Need, first: u64) -> bool;

        /// Enters the total order of all frees. Of each free, either the caller sees the slots, or
        /// the freeing CPU sees the caller's earlier writes.
        fn settle(&self);

        /// Takes every slot if all of them are free; otherwise takes none.
        fn close(&self) -> bool;

        /// Frees every slot that `close` took.
        fn reopen(&self);

        /// Frees every slot of an area for first use, and resets the high-water mark.
        fn open(&self) {
            self.reopen();
            self.reset_high_water();
        }

        /// The number of free slots.
        fn free(&self) -> usize;

        /// The free slots of a segment.
        fn word(&self, segment: usize) -> u128;

        /// The largest number of slots that were taken at the same time.
        fn high_water(&self) -> usize;

        /// Restarts the high-water mark at the number of slots taken now.
        fn reset_high_water(&self);
    }
}

/// A way to share the free slots of an area. The trait is sealed: [`Locked`] and [`LockFree`].
pub trait Area: sealed::Slots + 'static {
    /// Slots of a segment, a power of two up to 128; no mapping is longer. Values below
    /// [`SEGMENT`](crate::bounce::SEGMENT) are for tests, to make segment boundaries frequent.
    const SEGMENT: usize;
}

/// The size of an area: slots and segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots, a multiple of the segment's.
    pub(crate) slots: usize,
    /// Slots of a segment: fewer than the arm's only if the area has no more.
    pub(crate) segment: usize,
    pub(crate) segments: usize,
}

impl Shape {
    /// An area of `slots` slots, a multiple of `segment`, which is a power of two.
    pub(crate) const fn new(slots: usize, segment: usize) -> Self {
        Self {
            slots,
            segment,
            segments: slots / segment,
        }
    }

    /// The segment at which a search begins in this turn: 0, 4, 2, 6, 1, 5, 3 and 7 of eight, and
    /// then 0 again. CPUs that share an area therefore use different cache lines, and each has as
    /// many segments before the next one's as possible.
    ///
    /// It is the bit reversal of the turn, with log2(segments) bits.
    #[inline(always)]
    pub(crate) fn begin(&self, turn: usize) -> usize {
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

/// The full segments that a search has seen. It visits the segments from `begin` to the last one,
/// and then those from the lowest one that is not known to be full to `begin`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    begin: usize,
    /// All segments from `begin` up to it were full.
    past: usize,
    /// All segments below it are full.
    pub(super) lowest: usize,
}

impl Search {
    /// A search from `begin` on, if all segments below `lowest` are full.
    pub(crate) fn new(begin: usize, lowest: usize) -> Self {
        let begin = begin.max(lowest);
        Self {
            begin,
            past: begin,
            lowest,
        }
    }

    /// The order in which it visits `segments` segments.
    pub(crate) fn order(&self, segments: usize) -> impl Iterator<Item = usize> + use<> {
        (self.begin..segments).chain(self.lowest..self.begin)
    }

    /// Records a full segment. Returns true if `lowest` has changed.
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

/// The segment of a slot of an area, and its number there, if the arm's segments have `segment`
/// slots. It is right for an area of fewer slots, too, as that has one segment.
#[inline(always)]
pub(crate) const fn split(slot: usize, segment: usize) -> (usize, u32) {
    (slot / segment, (slot % segment) as u32)
}

/// The effort of a search for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The search may skip segments that were full at the last look.
    First,
    /// The search looks at all segments.
    Thorough,
}

/// The result of taking a run: its first slot in the area, if there was one. A flag tells that
/// slots were taken and given back meanwhile, so that another CPU may have missed them. It is one
/// word, so that it stays in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken(u64);

impl Taken {
    const ROLLED_BACK: u64 = 1 << 63;
    /// A slot number that no area has.
    const NONE: u64 = Self::ROLLED_BACK - 1;

    #[inline]
    pub(super) const fn some(slot: usize) -> Self {
        Self(slot as u64)
    }

    #[inline]
    pub(crate) const fn none() -> Self {
        Self(Self::NONE)
    }

    /// Sets the flag that slots were given back meanwhile.
    pub(crate) const fn rolled_back_if(self, rolled_back: bool) -> Self {
        Self(self.0 | (rolled_back as u64) << 63)
    }

    /// Converts the slot of a taken run to the block's numbering, for an area that begins at
    /// `begin`.
    #[inline]
    pub(crate) const fn behind(self, begin: usize) -> Self {
        Self(self.0 + begin as u64)
    }

    #[inline]
    pub(crate) const fn slot(self) -> Option<usize> {
        let slot = self.0 & Self::NONE;
        if slot == Self::NONE {
            return None;
        }
        Some(slot as usize)
    }

    #[inline]
    pub(crate) const fn rolled_back(self) -> bool {
        self.0 & Self::ROLLED_BACK != 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Search, Shape, Taken};

    #[test]
    fn a_flag_beside_a_slot_changes_neither() {
        for slot in [0, 1, 127, u32::MAX as usize] {
            for rolled_back in [false, true] {
                let taken = Taken::some(slot).rolled_back_if(rolled_back);
                assert_eq!(taken.slot(), Some(slot));
                assert_eq!(taken.rolled_back(), rolled_back);
                let behind = taken.behind(1 << 20);
                assert_eq!(behind.slot(), Some(slot + (1 << 20)));
                assert_eq!(behind.rolled_back(), rolled_back);
                let none = Taken::none().rolled_back_if(rolled_back);
                assert_eq!((none.slot(), none.rolled_back()), (None, rolled_back));
            }
        }
    }

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
        // That 3, 4 and 5 are full is then known already.
        let last = search.full(5);
        assert!(!last && search.full(2) && search.lowest == 6);
        // A gap ends it.
        let mut search = Search::new(1, 0);
        assert!(!search.full(2) && search.full(0) && search.lowest == 1);
    }
}
