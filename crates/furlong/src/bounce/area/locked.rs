//! An area under a lock, with plain words.

use core::marker::PhantomData;

use super::contract::{Search, split};
use super::run::bits_low;
use crate::bounce::{
    Area, Counters, Event, Need, Pass, Row, SLOT, Shape, Slots, Store, Taken, bits, low_bits,
};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Lock, LockGuard, RawLock, SpinLock};

/// An area under a lock `L`, as in Linux; segments of `SEGMENT` slots.
#[derive(Debug)]
pub struct Locked<L = SpinLock, const SEGMENT: usize = { crate::bounce::slot::SEGMENT }> {
    shape: Shape,
    /// True while the lock is held; maintained only if waits are counted.
    held: AtomicBool,
    /// The number of free slots: changed under the lock, and read without it as a hint.
    free: AtomicUsize,
    state: Lock<L, State>,
}

/// The data under the lock.
#[derive(Debug)]
struct State {
    /// Free slots, a word per segment.
    segments: Row<u128>,
    /// No segment below it has a free slot.
    lowest: usize,
    /// The smallest number of free slots so far.
    least_free: usize,
}

impl State {
    /// Finds the first run if it is in the first half that is not full, which is the usual case.
    /// Returns its segment, its slot, and the free slots left in that segment.
    #[inline(always)]
    fn find_near(
        &self,
        slots: usize,
        need: &Need,
        (first, begin): (u64, usize),
    ) -> Option<(usize, usize, u128)> {
        let index = self.lowest.max(begin);
        let free = *self.segments.get(index)?;
        let find = |half: usize| {
            let begin = index * slots + half;
            // A short segment at the end of the addresses has no slot in the high half.
            let place = first.wrapping_add(begin as u64 * SLOT);
            let start = need.place_low((free >> half) as u64, place)?;
            let left = free & !(u128::from(bits_low(start, need.slots)) << half);
            Some((index, begin + start as usize, left))
        };
        // Called twice, so that the half is a constant in each call.
        match free as u64 {
            0 => find(64),
            _ => find(0),
        }
    }

    /// Takes a run that `find_near` has found.
    #[inline(always)]
    fn take_near(&mut self, index: usize, left: u128) {
        self.segments.as_mut()[index] = left;
        // A full segment need not be looked at again.
        self.lowest += usize::from(left == 0 && index == self.lowest);
    }

    /// Takes the first run; the slow path.
    #[cold]
    #[inline(never)]
    fn take_far<K: Counters>(
        &mut self,
        shape: Shape,
        need: Need,
        (first, begin): (u64, usize),
        counters: &K,
    ) -> Option<usize> {
        let mut search = Search::new(begin, self.lowest);
        for segment in search.order(shape.segments) {
            counters.count(Event::SlotProbed, shape.segment as u64);
            let free = self.segments[segment];
            let begin = segment * shape.segment;
            if let Some(start) = need.place(free, first + begin as u64 * SLOT) {
                let left = free & !bits(start, need.slots);
                self.segments.as_mut()[segment] = left;
                if left == 0 && search.full(segment) {
                    self.lowest = search.lowest;
                }
                return Some(begin + start as usize);
            }
            if free == 0 && search.full(segment) {
                self.lowest = search.lowest;
            }
        }
        None
    }
}

impl<L: RawLock, const SEGMENT: usize> Locked<L, SEGMENT> {
    /// True if another CPU holds the lock and waits are counted.
    #[inline]
    fn must_wait<K: Counters>(&self) -> bool {
        // Relaxed, here and below: a note for a count; the lock itself orders.
        K::ON && self.held.load(Ordering::Relaxed)
    }

    /// Takes the lock.
    #[inline]
    fn lock<K: Counters>(&self) -> Counted<'_, L, K> {
        let state = self.state.lock();
        if K::ON {
            // Relaxed: as in must_wait.
            self.held.store(true, Ordering::Relaxed);
        }
        Counted {
            state,
            held: &self.held,
            counters: PhantomData,
        }
    }

    #[inline]
    fn free_slots(&self) -> usize {
        // Relaxed: exact under the lock, without which it is a hint.
        self.free.load(Ordering::Relaxed)
    }

    /// Sets the number of free slots; the caller has the lock.
    #[inline]
    fn note_free(&self, _under_lock: &mut State, free: usize) {
        // Relaxed: the lock orders.
        self.free.store(free, Ordering::Relaxed);
    }

    /// Subtracts `len` taken slots from the free ones.
    #[inline]
    fn note_taken(&self, state: &mut State, len: u32) {
        let free = self.free_slots() - len as usize;
        self.note_free(state, free);
        if free < state.least_free {
            state.least_free = free;
        }
    }

    fn segment_bits(&self) -> u128 {
        low_bits(self.shape.segment as u32)
    }
}

/// The lock's guard. If waits are counted, it also maintains `held`.
struct Counted<'a, L: RawLock, K: Counters> {
    state: LockGuard<'a, L, State>,
    held: &'a AtomicBool,
    counters: PhantomData<K>,
}

impl<L: RawLock, K: Counters> Drop for Counted<'_, L, K> {
    #[inline]
    fn drop(&mut self) {
        if K::ON {
            // Relaxed: as in `lock`.
            self.held.store(false, Ordering::Relaxed);
        }
    }
}

impl<L, const SEGMENT: usize> Slots for Locked<L, SEGMENT>
where
    L: RawLock + Default + Send + Sync + 'static,
{
    fn try_new(shape: Shape, store: &Store) -> Option<Self> {
        let state = State {
            segments: store.try_lines(shape.segments, |_| Some(0))?,
            lowest: 0,
            least_free: shape.slots,
        };
        Some(Self {
            shape,
            held: AtomicBool::new(false),
            free: AtomicUsize::new(0),
            state: Lock::new(L::default(), state),
        })
    }

    fn footprint(shape: Shape) -> usize {
        Row::<u128>::footprint_in_lines(shape.segments)
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
        if pass == Pass::First && self.free_slots() < need.slots as usize {
            return Taken::none();
        }
        if self.must_wait::<K>() {
            counters.count(Event::LockWait, 1);
        }
        let mut held = self.lock::<K>();
        let state = &mut *held.state;
        let slot = match state.find_near(Self::SEGMENT, need, from) {
            Some((index, slot, left)) => {
                // First, as a counter may panic: nothing has been taken yet.
                counters.count(Event::SlotProbed, self.shape.segment as u64);
                state.take_near(index, left);
                slot
            }
            None => match state.take_far(self.shape, *need, from, counters) {
                Some(slot) => slot,
                None => return Taken::none(),
            },
        };
        self.note_taken(state, need.slots);
        Taken::some(slot)
    }

    #[inline]
    fn give<K: Counters>(&self, slot: usize, len: u32, counters: &K) {
        let (segment, start) = split(slot, Self::SEGMENT);
        let run = bits(start, len);
        let waits = self.must_wait::<K>();
        let mut held = self.lock::<K>();
        let state = &mut *held.state;
        let word = &mut state.segments.as_mut()[segment];
        debug_assert!(*word & run == 0, "a free slot is given back");
        *word |= run;
        self.note_free(state, self.free_slots() + len as usize);
        if segment < state.lowest {
            state.lowest = segment;
        }
        drop(held);
        // Last, as a counter may panic: everything has been given back.
        if waits {
            counters.count(Event::LockWait, 1);
        }
    }

    fn take_at(&self, slot: usize, len: u32) -> bool {
        let (segment, start) = split(slot, Self::SEGMENT);
        let mut state = self.state.lock();
        let run = bits(start, len);
        let word = &mut state.segments.as_mut()[segment];
        let all = *word & run == run;
        if all {
            *word &= !run;
            self.note_taken(&mut state, len);
        }
        all
    }

    fn fits(&self, need: &Need, first: u64) -> bool {
        let state = self.state.lock();
        let at = |segment: usize| first + (segment * Self::SEGMENT) as u64 * SLOT;
        (state.lowest..self.shape.segments).any(|segment| {
            let free = state.segments[segment];
            need.place(free, at(segment)).is_some()
        })
    }

    fn settle(&self) {
        drop(self.state.lock());
    }

    fn close(&self) -> bool {
        let mut state = self.state.lock();
        let all = self.free_slots() == self.shape.slots;
        if all {
            state.segments.as_mut().fill(0);
            self.note_free(&mut state, 0);
        }
        all
    }

    fn reopen(&self) {
        let all = self.segment_bits();
        let mut state = self.state.lock();
        state.segments.as_mut().fill(all);
        state.lowest = 0;
        self.note_free(&mut state, self.shape.slots);
    }

    fn free(&self) -> usize {
        let _exact = self.state.lock();
        self.free_slots()
    }

    fn word(&self, segment: usize) -> u128 {
        self.state.lock().segments[segment]
    }

    fn high_water(&self) -> usize {
        self.shape.slots - self.state.lock().least_free
    }

    fn reset_high_water(&self) {
        let mut state = self.state.lock();
        state.least_free = self.free_slots();
    }
}

impl<L, const SEGMENT: usize> Area for Locked<L, SEGMENT>
where
    L: RawLock + Default + Send + Sync + 'static,
{
    const SEGMENT: usize = {
        assert!(SEGMENT.is_power_of_two() && SEGMENT <= crate::bounce::slot::SEGMENT);
        SEGMENT
    };
}
