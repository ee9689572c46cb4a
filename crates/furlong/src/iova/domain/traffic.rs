//! Event counts of a domain: exact, and free when they are off.

use crate::rbtree::Off;

/// Events that a domain counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A CPU's magazines had an extent for a request.
    Hit,
    /// The depot's lock was taken.
    DepotVisit,
    /// The tree's lock was taken.
    TreeVisit,
    /// The device's TLB was flushed.
    Flush,
    /// An extent left the magazines for the tree.
    Drained,
}

/// Counts the events of a domain. Each lock has counters of its own beside it, so counting shares
/// no cache line; reads sum them.
pub trait DomainCounters: Default {
    /// Adds `times` occurrences of `event`.
    fn count(&mut self, event: Event, times: u64);

    /// Adds the counts of another.
    fn absorb(&mut self, other: &Self);
}

impl DomainCounters for Off {
    #[inline(always)]
    fn count(&mut self, _: Event, _: u64) {}
    #[inline(always)]
    fn absorb(&mut self, _: &Self) {}
}

/// Counts every event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    counts: [u64; 5],
}

impl Traffic {
    /// Number of occurrences of an event.
    #[must_use]
    pub fn count_of(&self, event: Event) -> u64 {
        self.counts[event as usize]
    }
}

impl DomainCounters for Traffic {
    #[inline]
    fn count(&mut self, event: Event, times: u64) {
        self.counts[event as usize] += times;
    }

    fn absorb(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }
}
