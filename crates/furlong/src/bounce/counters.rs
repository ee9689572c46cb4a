//! Counters of the work that maps do: exact, and free of cost if they are off.
#![forbid(unsafe_code)]

use core::fmt;

use crate::sync::atomic::{AtomicU64, Ordering};

/// The events that a pool counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An area was searched for a run.
    AreaProbed,
    /// A slot was looked at. Each load of a segment's bits counts all slots of the segment.
    SlotProbed,
    /// An area's lock was held by another CPU.
    LockWait,
    /// Another CPU changed the bits between a load and a compare-and-exchange.
    Retry,
    /// No area had room: the pool had to grow, or had no run.
    Full,
    /// A transient block was obtained for one mapping.
    Transient,
}

/// Counts the events of a pool. Each area has its own counters, in its own cache lines. They are
/// summed when they are read.
pub trait Counters: Default + Send + Sync + 'static {
    /// True if anything is counted.
    const ON: bool;

    /// Adds `times` occurrences of an event.
    fn count(&self, event: Event, times: u64);

    /// Adds the counts of another.
    fn absorb(&mut self, other: &Self);
}

/// Counts nothing, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Counters for Off {
    const ON: bool = false;
    #[inline(always)]
    fn count(&self, _: Event, _: u64) {}
    #[inline(always)]
    fn absorb(&mut self, _: &Self) {}
}

const EVENTS: usize = 6;

/// Counts every event.
#[derive(Default)]
pub struct Tally {
    counts: [AtomicU64; EVENTS],
}

impl Tally {
    /// The number of times that an event has occurred.
    #[must_use]
    pub fn count_of(&self, event: Event) -> u64 {
        // Relaxed: a number that orders nothing.
        self.counts[event as usize].load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            Event::AreaProbed,
            Event::SlotProbed,
            Event::LockWait,
            Event::Retry,
            Event::Full,
            Event::Transient,
        ];
        let counts = all.iter().map(|event| (event, self.count_of(*event)));
        f.debug_map().entries(counts).finish()
    }
}

impl Counters for Tally {
    const ON: bool = true;

    #[inline]
    fn count(&self, event: Event, times: u64) {
        // Relaxed: a number that orders nothing.
        self.counts[event as usize].fetch_add(times, Ordering::Relaxed);
    }

    fn absorb(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            // Relaxed: as above.
            count.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}
