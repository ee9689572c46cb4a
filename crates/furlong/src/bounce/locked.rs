//! An area under a lock: one holder at a time, plain words.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::area::sealed::Slots;
use super::area::{Area, Pass, Shape, Taken};
use super::counters::{Counters, Event};
use super::line::Lines;
use super::need::Need;
use super::run::{bits, bits_low, low_bits};
use super::slot::SLOT;
use super::store::Store;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Lock, LockGuard, RawLock, SpinLock};

/// An area under a lock `L`, as Linux has it; segments of `SEGMENT` slots.
#[derive(Debug)]
pub struct Locked<L = SpinLock, const SEGMENT: usize = { super::slot::SEGMENT }> {
    shape: Shape,
    /// Somebody holds the lock; kept where waits are counted.
    held: AtomicBool,
    state: Lock<L, State>,
}

/// What is under the lock.
#[derive(Debug)]
struct State {
    /// Free slots, a word a segment.
    segments: Lines<u128, 8>,
    /// No segment below it has a free slot.
    lowest: usize,
    /// Free slots, their least number so far, and all of them.
    free: usize,
    least_free: usize,
}

impl State {
    /// Takes the lowest run where it is in the low word of the lowest segment: the usual case.
    #[inline(always)]
    fn take_near<K: Counters>(
        &mut self,
        shape: Shape,
        need: &Need,
        first: u64,
        counters: &K,
    ) -> Option<usize> {
        let segment = self.lowest;
        if segment == shape.segments {
            return None;
        }
        let begin = shape.first_of(segment);
        let free = *self.segments.at(segment) as u64;
        let start = need.place_low(free, first + begin as u64 * SLOT)?;
        counters.count(Event::SlotProbed, shape.segment as u64);
        self.take(segment, bits_low(start, need.slots).into(), need.slots);
        Some(begin + start as usize)
    }

    /// Takes the lowest run.
    #[inline(never)]
    fn take_far<K: Counters>(
        &mut self,
        shape: Shape,
        (need, first): (Need, u64),
        counters: &K,
    ) -> Option<usize> {
        if need.slots as usize > self.free {
            return None;
        }
        for segment in self.lowest..shape.segments {
            counters.count(Event::SlotProbed, shape.segment as u64);
            let free = *self.segments.at(segment);
            let begin = shape.first_of(segment);
            if let Some(start) = need.place(free, first + begin as u64 * SLOT) {
                self.take(segment, bits(start, need.slots), need.slots);
                return Some(begin + start as usize);
            }
            if free == 0 && segment == self.lowest {
                self.lowest += 1;
            }
        }
        None
    }

    /// Takes `run` of a segment, all of which is free.
    #[inline]
    fn take(&mut self, segment: usize, run: u128, len: u32) {
        *self.segments.at_mut(segment) &= !run;
        self.free -= len as usize;
        self.least_free = self.least_free.min(self.free);
    }
}

impl<L: RawLock, const SEGMENT: usize> Locked<L, SEGMENT> {
    /// Takes the lock, and counts whether somebody else held it.
    #[inline]
    fn lock<K: Counters>(&self, counters: &K) -> Counted<'_, L, K> {
        // Relaxed, here and below: a note for a count; the lock itself orders.
        if K::ON && self.held.load(Ordering::Relaxed) {
            counters.count(Event::LockWait, 1);
        }
        let state = self.state.lock();
        if K::ON {
            self.held.store(true, Ordering::Relaxed);
        }
        Counted {
            state,
            held: &self.held,
            counters: PhantomData,
        }
    }

    fn segment_bits(&self) -> u128 {
        low_bits(self.shape.segment as u32)
    }
}

/// The lock, with a note that it is held where waits are counted.
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
            segments: Lines::try_new(shape.segments, store)?,
            lowest: 0,
            free: 0,
            least_free: shape.slots,
        };
        Some(Self {
            shape,
            held: AtomicBool::new(false),
            state: Lock::new(L::default(), state),
        })
    }

    fn footprint(shape: Shape) -> usize {
        Lines::<u128, 8>::footprint(shape.segments)
    }

    #[inline(always)]
    fn take<K: Counters>(&self, need: &Need, first: u64, _: Pass, counters: &K) -> Taken {
        counters.count(Event::AreaProbed, 1);
        let mut held = self.lock(counters);
        let state = &mut *held.state;
        let slot = state.take_near(self.shape, need, first, counters);
        Taken {
            slot: slot.or_else(|| state.take_far(self.shape, (*need, first), counters)),
            rolled_back: false,
        }
    }

    #[inline]
    fn give<K: Counters>(&self, slot: usize, len: u32, counters: &K) {
        let (segment, start) = self.shape.split(slot);
        let mut held = self.lock(counters);
        let state = &mut *held.state;
        let word = state.segments.at_mut(segment);
        debug_assert!(*word & bits(start, len) == 0, "a free slot is given back");
        *word |= bits(start, len);
        state.free += len as usize;
        state.lowest = state.lowest.min(segment);
    }

    fn take_at(&self, slot: usize, len: u32) -> bool {
        let (segment, start) = self.shape.split(slot);
        let mut state = self.state.lock();
        let run = bits(start, len);
        let all = *state.segments.at(segment) & run == run;
        if all {
            state.take(segment, run, len);
        }
        all
    }

    fn fits(&self, need: &Need, first: u64) -> bool {
        let state = self.state.lock();
        let at = |segment: usize| first + self.shape.first_of(segment) as u64 * SLOT;
        need.slots as usize <= state.free
            && (state.lowest..self.shape.segments).any(|segment| {
                let free = *state.segments.at(segment);
                need.place(free, at(segment)).is_some()
            })
    }

    fn settle(&self) {
        drop(self.state.lock());
    }

    fn close(&self) -> bool {
        let mut state = self.state.lock();
        let all = state.free == self.shape.slots;
        if all {
            for segment in 0..self.shape.segments {
                *state.segments.at_mut(segment) = 0;
            }
            state.free = 0;
        }
        all
    }

    fn reopen(&self) {
        let all = self.segment_bits();
        let mut state = self.state.lock();
        for segment in 0..self.shape.segments {
            *state.segments.at_mut(segment) = all;
        }
        state.lowest = 0;
        state.free = self.shape.slots;
    }

    fn free(&self) -> usize {
        self.state.lock().free
    }

    fn word(&self, segment: usize) -> u128 {
        *self.state.lock().segments.at(segment)
    }

    fn high_water(&self) -> usize {
        self.shape.slots - self.state.lock().least_free
    }

    fn reset_high_water(&self) {
        let mut state = self.state.lock();
        state.least_free = state.free;
    }
}

impl<L, const SEGMENT: usize> Area for Locked<L, SEGMENT>
where
    L: RawLock + Default + Send + Sync + 'static,
{
    const SEGMENT: usize = {
        assert!(SEGMENT.is_power_of_two() && SEGMENT <= super::slot::SEGMENT);
        SEGMENT
    };
}
