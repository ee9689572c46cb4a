//! An area without a lock: words of free slots, each changed by one compare-and-exchange.

use super::contract::{Search, split};
use super::run::bits_low;
use crate::bounce::{
    Area, Counters, Event, Need, Pass, Row, SLOT, Shape, Slots, Store, Taken, bits, low_bits,
};
use crate::sync::LINE;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// An area that CPUs share without waiting for each other. A segment has two words of `HALF` slots.
///
/// Taking a run in one word is one compare-and-exchange, and freeing it one atomic OR. A run across
/// both words is taken from the low one first. If its slots in the high word are gone by then,
/// those in the low word are given back.
#[derive(Debug)]
pub struct LockFree<const HALF: u32 = 64> {
    shape: Shape,
    segments: Row<Segment>,
    /// A hint: no segment below it had a free slot at the last look. A free that races with a
    /// search may leave it too high; a thorough pass corrects it.
    lowest: AtomicUsize,
}

/// Full segments that a search skips by looking at each. The hint is written only if it skips at
/// least this many more, or the whole area. The next free writes it back, and each write takes its
/// cache line from every CPU that uses the area.
const PASSED: usize = 8;

const _: () = assert!(align_of::<Segment>() == LINE);

/// The words of a segment: low slots, high slots. CPUs that share an area begin in different
/// segments, and so in different cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Segment {
    free: [AtomicU64; 2],
    /// Slots that were taken since the last reset of the high-water mark.
    touched: [AtomicU64; 2],
}

/// The result of an attempt to take a run.
enum Attempt {
    Taken,
    /// Another CPU was faster.
    Lost,
    /// Another CPU was faster in the high word; the low word was given back.
    RolledBack,
}

impl Segment {
    /// Takes `run` from a word that was read as `seen`, and marks it as touched.
    #[inline]
    fn take_in_word(&self, half: usize, seen: u64, run: u64) -> bool {
        let taken = self.exchange(half, seen, run);
        if taken {
            self.touch(half, run);
        }
        taken
    }

    /// Takes `run` from a word that was read as `seen`.
    #[inline]
    fn exchange(&self, half: usize, seen: u64, run: u64) -> bool {
        // Acquire: pairs with `slots-give`; the previous owner of the slots is done with them. A
        // failed attempt learns nothing and may be relaxed.
        self.free[half]
            .compare_exchange(seen, seen & !run, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes a run across both words. The low word was read as `seen`.
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
        // `slots-settle`; a waiter has announced itself before, or sees these slots.
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

    /// The free slots of a segment, and its words, at this moment.
    #[inline]
    fn look(segment: &Segment) -> (u128, [u64; 2]) {
        // Relaxed: the exchange decides.
        let words = [0, 1].map(|half| segment.free[half].load(Ordering::Relaxed));
        (u128::from(words[0]) | u128::from(words[1]) << HALF, words)
    }

    /// Takes `run` if the words have not changed since they were read.
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

    /// Takes the first run if it is in the first word that is not full, without a race: the usual
    /// case. The search begins at segment `from`, and skips few full ones.
    #[inline(always)]
    fn take_near<K: Counters>(
        &self,
        need: &Need,
        (first, from): (u64, usize),
        counters: &K,
    ) -> Option<usize> {
        let near = self.segments.get(from..)?.iter().take(PASSED);
        for (segment, index) in near.zip(from..) {
            let begin = index * Self::SEGMENT;
            // Relaxed, twice: the exchange decides.
            let low = segment.free[0].load(Ordering::Relaxed);
            if low != 0 {
                return self.take_first(need, first, (segment, begin, 0, low), counters);
            }
            let high = segment.free[1].load(Ordering::Relaxed);
            if high != 0 {
                let begin = begin + HALF as usize;
                return self.take_first(need, first, (segment, begin, 1, high), counters);
            }
            counters.count(Event::SlotProbed, self.shape.segment as u64);
        }
        None
    }

    /// Takes the lowest run of a word whose first slot is `begin` and which was read as `seen`.
    #[inline(always)]
    fn take_first<K: Counters>(
        &self,
        need: &Need,
        first: u64,
        (segment, begin, half, seen): (&Segment, usize, usize, u64),
        counters: &K,
    ) -> Option<usize> {
        let start = need.place_low(seen, first + begin as u64 * SLOT)?;
        let run = bits_low(start, need.slots);
        counters.count(Event::SlotProbed, self.shape.segment as u64);
        if !segment.take_in_word(half, seen, run) {
            counters.count(Event::Retry, 1);
            return None;
        }
        let alone = self.segments.len() == 1;
        // Relaxed, twice: hints.
        if seen == run && alone && segment.free[1 - half].load(Ordering::Relaxed) == 0 {
            // The whole area is full now, so the next search need not look at it.
            self.lowest.store(1, Ordering::Relaxed);
        }
        Some(begin + start as usize)
    }

    /// Takes the first run; the slow path.
    #[cold]
    #[inline(never)]
    fn take_far<K: Counters>(
        &self,
        need: Need,
        (first, begin): (u64, usize),
        pass: Pass,
        counters: &K,
    ) -> Taken {
        let mut rolled_back = false;
        // Relaxed, here and below: a hint.
        let mut lowest = match pass {
            Pass::First => self.lowest.load(Ordering::Relaxed),
            Pass::Thorough => 0,
        };
        let mut search = Search::new(begin, lowest);
        for index in search.order(self.shape.segments) {
            let segment = &self.segments[index];
            let begin = index * Self::SEGMENT;
            let at = first + begin as u64 * SLOT;
            loop {
                counters.count(Event::SlotProbed, self.shape.segment as u64);
                let (free, seen) = Self::look(segment);
                let Some(start) = need.place(free, at) else {
                    if free == 0 && search.full(index) {
                        lowest = self.note_full(lowest, search.lowest);
                    }
                    break;
                };
                let run = bits(start, need.slots);
                match Self::attempt(segment, seen, run) {
                    Attempt::Taken => {
                        if pass == Pass::Thorough {
                            self.lowest.store(search.lowest, Ordering::Relaxed);
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

    /// Updates the hint from `noted` to `lowest`, if that is worth a write. Returns the hint's new
    /// value. All segments below `lowest` are full.
    fn note_full(&self, noted: usize, lowest: usize) -> usize {
        if lowest - noted < PASSED && lowest < self.shape.segments {
            return noted;
        }
        // Relaxed: a hint.
        self.lowest.store(lowest, Ordering::Relaxed);
        lowest
    }

    /// The words of a segment whose slots are all free.
    fn all(&self) -> [u64; 2] {
        Self::split(low_bits(self.shape.segment as u32))
    }

    fn words(&self) -> impl Iterator<Item = (&Segment, usize)> {
        let segments = (0..self.shape.segments).map(|segment| &self.segments[segment]);
        segments.flat_map(|segment| [(segment, 0), (segment, 1)])
    }

    /// Frees the slots of the first `end` words.
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
    fn take<K: Counters>(
        &self,
        need: &Need,
        from: (u64, usize),
        pass: Pass,
        counters: &K,
    ) -> Taken {
        counters.count(Event::AreaProbed, 1);
        if pass == Pass::First {
            // Relaxed: a hint.
            let lowest = self.lowest.load(Ordering::Relaxed);
            if lowest == self.segments.len() {
                return Taken::none();
            }
            let from = (from.0, from.1.max(lowest));
            if let Some(slot) = self.take_near(need, from, counters) {
                return Taken::some(slot);
            }
        }
        self.take_far(*need, from, pass, counters)
    }

    #[inline]
    fn give<K: Counters>(&self, slot: usize, len: u32, _: &K) {
        let (index, start) = split(slot, Self::SEGMENT);
        let segment = &self.segments[index];
        let [low, high] = Self::split(bits(start, len));
        // The high word first: a CPU that then takes the low word finds both halves free.
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
            // `slots-settle`: pairs with `slots-give`. All read-modify-writes of a word are in one
            // order: a free before this one is seen, and one after it sees the caller's earlier
            // writes. SeqCst: LLVM makes no instruction at all of a weaker one on x86-64, since it
            // changes nothing.
            segment.free[half].fetch_or(0, Ordering::SeqCst);
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

    /// The number of slots taken since the last reset. A CPU takes the first run that fits, so
    /// it is little more than the most slots taken at one time by CPUs that begin in one segment.
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
