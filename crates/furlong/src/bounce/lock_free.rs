//! An area without a lock: words of free slots, changed by one exchange each.
#![forbid(unsafe_code)]

use super::area::sealed::Slots;
use super::area::{Area, Pass, Shape, Taken, split};
use super::counters::{Counters, Event};
use super::need::Need;
use super::run::{bits, bits_low, low_bits};
use super::slot::SLOT;
use super::store::{Row, Store};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// An area that CPUs share without waiting for each other; segments of two words of `HALF` slots.
///
/// To take a run is one compare-and-exchange where it lies in one word, to give it back one
/// addition of bits. A run across both words is taken from the low one first; where the high one is
/// gone by then, the low one is given back.
#[derive(Debug)]
pub struct LockFree<const HALF: u32 = 64> {
    shape: Shape,
    segments: Row<Segment>,
    /// Below it no segment had a free slot when somebody looked. A give and a look that meet may
    /// leave it too high, which a thorough pass mends.
    lowest: AtomicUsize,
}

/// The words of a segment: low slots, high slots.
#[derive(Debug, Default)]
struct Segment {
    free: [AtomicU64; 2],
    /// Slots that were taken at some time.
    touched: [AtomicU64; 2],
}

/// What came of trying to take a run.
enum Attempt {
    Taken,
    /// Somebody else was there first.
    Lost,
    /// Somebody else was there first in the high word; the low word was given back.
    RolledBack,
}

impl Segment {
    /// Takes `run` out of the word that was seen as `seen`, and marks it.
    #[inline]
    fn take_in_word(&self, half: usize, seen: u64, run: u64) -> bool {
        let taken = self.exchange(half, seen, run);
        if taken {
            self.touch(half, run);
        }
        taken
    }

    /// Takes `run` out of the word that was seen as `seen`.
    #[inline]
    fn exchange(&self, half: usize, seen: u64, run: u64) -> bool {
        // Acquire: pairs with `slots-give`; whoever had the slots before is done with them. A
        // failed attempt learns nothing and may be relaxed.
        self.free[half]
            .compare_exchange(seen, seen & !run, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes a run across both words, of which the low one was seen as `seen`.
    fn take_across(&self, seen: u64, [low, high]: [u64; 2]) -> Attempt {
        if !self.take_in_word(0, seen, low) {
            return Attempt::Lost;
        }
        // Relaxed: the exchange decides.
        let mut word = self.free[1].load(Ordering::Relaxed);
        while word & high == high {
            if self.take_in_word(1, word, high) {
                return Attempt::Taken;
            }
            // Relaxed: as above.
            word = self.free[1].load(Ordering::Relaxed);
        }
        self.give(0, low);
        Attempt::RolledBack
    }

    #[inline]
    fn give(&self, half: usize, run: u64) {
        // Release, `slots-give`: pairs with the exchange that takes them next. Acquire: pairs with
        // `slots-settle`; one who waits has said so before, or sees these slots.
        let before = self.free[half].fetch_or(run, Ordering::AcqRel);
        debug_assert!(before & run == 0, "a free slot is given back");
    }

    #[inline]
    fn touch(&self, half: usize, run: u64) {
        // Relaxed, twice: a mark that orders nothing.
        if run & !self.touched[half].load(Ordering::Relaxed) != 0 {
            self.touched[half].fetch_or(run, Ordering::Relaxed);
        }
    }
}

impl<const HALF: u32> LockFree<HALF> {
    #[inline]
    fn split(run: u128) -> [u64; 2] {
        let low = run as u64 & low_bits(HALF) as u64;
        [low, (run >> HALF) as u64]
    }

    /// The free slots of a segment and of its words, as they are seen.
    #[inline]
    fn look(segment: &Segment) -> (u128, [u64; 2]) {
        // Relaxed: the exchange decides.
        let words = [0, 1].map(|half| segment.free[half].load(Ordering::Relaxed));
        (u128::from(words[0]) | u128::from(words[1]) << HALF, words)
    }

    /// Takes `run` if the words still are as they were seen.
    #[inline]
    fn attempt(segment: &Segment, seen: [u64; 2], run: u128) -> Attempt {
        let of = |taken| {
            if taken { Attempt::Taken } else { Attempt::Lost }
        };
        match Self::split(run) {
            [low, 0] => of(segment.take_in_word(0, seen[0], low)),
            [0, high] => of(segment.take_in_word(1, seen[1], high)),
            both => segment.take_across(seen[0], both),
        }
    }

    /// Takes the lowest run where it is in the low word of the lowest segment, and nobody else is
    /// there: the usual case.
    #[inline(always)]
    fn take_near<K: Counters>(&self, need: &Need, first: u64, counters: &K) -> Option<usize> {
        // Relaxed: a hint.
        let index = self.lowest.load(Ordering::Relaxed);
        let segment = self.segments.get(index)?;
        let begin = index * Self::SEGMENT;
        // Relaxed: the exchange decides.
        let seen = segment.free[0].load(Ordering::Relaxed);
        let start = need.place_low(seen, first + begin as u64 * SLOT)?;
        let run = bits_low(start, need.slots);
        counters.count(Event::SlotProbed, self.shape.segment as u64);
        if !segment.take_in_word(0, seen, run) {
            counters.count(Event::Retry, 1);
            return None;
        }
        // Relaxed, twice: hints.
        if seen == run && segment.free[1].load(Ordering::Relaxed) == 0 {
            // It is full now: who comes next need not look.
            self.lowest.store(index + 1, Ordering::Relaxed);
        }
        Some(begin + start as usize)
    }

    /// Takes the lowest run.
    #[cold]
    #[inline(never)]
    fn take_far<K: Counters>(&self, (need, first): (Need, u64), pass: Pass, counters: &K) -> Taken {
        let mut rolled_back = false;
        // Relaxed, here and below: a hint.
        let begun = match pass {
            Pass::First => self.lowest.load(Ordering::Relaxed),
            Pass::Thorough => 0,
        };
        let mut lowest = begun;
        for index in begun..self.shape.segments {
            let segment = &self.segments[index];
            let begin = index * Self::SEGMENT;
            let at = first + begin as u64 * SLOT;
            loop {
                counters.count(Event::SlotProbed, self.shape.segment as u64);
                let (free, seen) = Self::look(segment);
                let Some(start) = need.place(free, at) else {
                    if free == 0 && index == lowest {
                        lowest += 1;
                        self.lowest.store(lowest, Ordering::Relaxed);
                    }
                    break;
                };
                let run = bits(start, need.slots);
                match Self::attempt(segment, seen, run) {
                    Attempt::Taken => {
                        // It is full now: who comes next need not look.
                        let full = usize::from(free == run && index == lowest);
                        if full > 0 || pass == Pass::Thorough {
                            self.lowest.store(lowest + full, Ordering::Relaxed);
                        }
                        let slot = begin + start as usize;
                        return Taken::some(slot).rolled_back_if(rolled_back);
                    }
                    Attempt::Lost => {}
                    Attempt::RolledBack => rolled_back = true,
                }
                counters.count(Event::Retry, 1);
            }
        }
        Taken::none().rolled_back_if(rolled_back)
    }

    /// The words of a segment all of whose slots are free.
    fn all(&self) -> [u64; 2] {
        Self::split(low_bits(self.shape.segment as u32))
    }

    fn words(&self) -> impl Iterator<Item = (&Segment, usize)> {
        let segments = (0..self.shape.segments).map(|segment| &self.segments[segment]);
        segments.flat_map(|segment| [(segment, 0), (segment, 1)])
    }

    /// Gives all words back that come before this one.
    fn open_until(&self, end: usize) {
        let all = self.all();
        for (segment, half) in self.words().take(end) {
            segment.give(half, all[half]);
        }
        // Relaxed: a hint.
        self.lowest.store(0, Ordering::Relaxed);
    }
}

impl<const HALF: u32> Slots for LockFree<HALF> {
    fn try_new(shape: Shape, store: &Store) -> Option<Self> {
        Some(Self {
            shape,
            segments: store.try_lines(shape.segments, |_| Some(Segment::default()))?,
            lowest: AtomicUsize::new(0),
        })
    }

    fn footprint(shape: Shape) -> usize {
        Row::<Segment>::footprint_in_lines(shape.segments)
    }

    #[inline(always)]
    fn take<K: Counters>(&self, need: &Need, first: u64, pass: Pass, counters: &K) -> Taken {
        counters.count(Event::AreaProbed, 1);
        if pass == Pass::First {
            // Relaxed: a hint.
            if self.lowest.load(Ordering::Relaxed) == self.shape.segments {
                return Taken::none();
            }
            if let Some(slot) = self.take_near(need, first, counters) {
                return Taken::some(slot);
            }
        }
        self.take_far((*need, first), pass, counters)
    }

    #[inline]
    fn give<K: Counters>(&self, slot: usize, len: u32, _: &K) {
        let (index, start) = split(slot, Self::SEGMENT);
        let segment = &self.segments[index];
        let [low, high] = Self::split(bits(start, len));
        // The high word first: who finds the low one free and takes it then has both.
        if high != 0 {
            segment.give(1, high);
        }
        if low != 0 {
            segment.give(0, low);
        }
        // Relaxed, twice: a hint.
        if index < self.lowest.load(Ordering::Relaxed) {
            self.lowest.store(index, Ordering::Relaxed);
        }
    }

    fn take_at(&self, slot: usize, len: u32) -> bool {
        let (index, start) = split(slot, Self::SEGMENT);
        let segment = &self.segments[index];
        let run = bits(start, len);
        loop {
            let (free, seen) = Self::look(segment);
            if free & run != run {
                return false;
            }
            if matches!(Self::attempt(segment, seen, run), Attempt::Taken) {
                return true;
            }
        }
    }

    fn fits(&self, need: &Need, first: u64) -> bool {
        (0..self.shape.segments).any(|index| {
            let (free, _) = Self::look(&self.segments[index]);
            let at = first + (index * Self::SEGMENT) as u64 * SLOT;
            need.place(free, at).is_some()
        })
    }

    fn settle(&self) {
        for (segment, half) in self.words() {
            // AcqRel, `slots-settle`: pairs with `slots-give`. All changes of a word by
            // read-modify-write are in one order: a give before this one is seen, and one after it
            // sees what the caller has done.
            segment.free[half].fetch_or(0, Ordering::AcqRel);
        }
    }

    fn close(&self) -> bool {
        let all = self.all();
        for (index, (segment, half)) in self.words().enumerate() {
            if all[half] != 0 && !segment.exchange(half, all[half], all[half]) {
                self.open_until(index);
                return false;
            }
        }
        true
    }

    fn reopen(&self) {
        self.open_until(2 * self.shape.segments);
    }

    fn free(&self) -> usize {
        // Relaxed: a snapshot.
        let free = |(segment, half): (&Segment, usize)| segment.free[half].load(Ordering::Relaxed);
        self.words()
            .map(|word| free(word).count_ones() as usize)
            .sum()
    }

    fn word(&self, segment: usize) -> u128 {
        Self::look(&self.segments[segment]).0
    }

    /// The slots that were taken at some time: since the lowest place is taken, not many more than
    /// were taken at one time.
    fn high_water(&self) -> usize {
        // Relaxed: a snapshot.
        let touched =
            |(segment, half): (&Segment, usize)| segment.touched[half].load(Ordering::Relaxed);
        self.words()
            .map(|word| touched(word).count_ones() as usize)
            .sum()
    }

    fn reset_high_water(&self) {
        let all = self.all();
        for (segment, half) in self.words() {
            // Relaxed, twice: marks that order nothing.
            let free = segment.free[half].load(Ordering::Relaxed);
            segment.touched[half].store(all[half] & !free, Ordering::Relaxed);
        }
    }
}

impl<const HALF: u32> Area for LockFree<HALF> {
    const SEGMENT: usize = {
        assert!(HALF.is_power_of_two() && HALF <= 64);
        2 * HALF as usize
    };
}
