//! Counts of what maps cost: exact, and free when they are off.
#![forbid(unsafe_code)]

use core::fmt;

use crate::sync::atomic::{AtomicU64, Ordering};

/// What a pool counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An area was asked for a run.
    AreaProbed,
    /// A slot was looked at: all slots of a segment, each time its bits were loaded.
    SlotProbed,
    /// An area's lock was held by somebody else.
    LockWait,
    /// Somebody else changed the bits between a look and an exchange.
    Retry,
    /// No area had room: the pool was to grow, or had nothing.
    Full,
    /// A transient block was obtained for one mapping.
    Transient,
}

/// Counts the events of a pool. Each area has counters of its own, in its own lines; they are
/// summed when they are read.
pub trait Counters: Default + Send + Sync + 'static {
    /// Whether anything is counted.
    const ON: bool;

    /// It happened so many times.
    fn count(&self, event: Event, times: u64);

    /// Adds what another has counted.
    fn absorb(&mut self, other: &Self);
}

/// Counts nothing and costs nothing.
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
    /// How often it has happened.
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
