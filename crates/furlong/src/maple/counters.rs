//! Work counters: exact, and free when they are off.

use core::fmt::Debug;

use crate::forms::Sealed;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A kind of work that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A visit of a node.
    Visit,
    /// One word of a slot was stored in place, with or without readers.
    SlotStore,
    /// A leaf or an inner node was written anew: a copy, or in place if there are no readers.
    NodeStore,
    /// One more node replaced one or two nodes.
    Split,
    /// A node was merged into a sibling, or refilled from one.
    Rebalance,
    /// A store replaced slots of more than one leaf.
    SpanningStore,
}

/// A counter of a tree's work.
///
/// Sealed: the tree calls it in the middle of a change, where a panic in user code would leave
/// entries in two nodes.
/// ```compile_fail,E0277
/// use furlong::maple::{Counters, Event};
///
/// #[derive(Debug, Default)]
/// struct Mine;
///
/// impl Counters for Mine {
///     fn count(&self, event: Event) {
///         assert_ne!(event, Event::Split);
///     }
/// }
/// ```
pub trait Counters: Sealed + Default + Debug {
    /// Counts one event.
    fn count(&self, event: Event);
}

/// Counts nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Sealed for Off {}

impl Counters for Off {
    #[inline(always)]
    fn count(&self, _: Event) {}
}

/// Counts everything; exact if only one thread uses the tree.
#[derive(Debug, Default)]
pub struct Tally([AtomicU64; 6]);

impl Tally {
    /// The number of times that `event` happened.
    #[must_use]
    pub fn of(&self, event: Event) -> u64 {
        // Relaxed: a count, which orders nothing.
        self.0[event as usize].load(Ordering::Relaxed)
    }
}

impl Sealed for Tally {}

impl Counters for Tally {
    #[inline]
    fn count(&self, event: Event) {
        // Relaxed: a count, which orders nothing.
        self.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }
}
