//! Work counters: exact, and free when they are off.

use core::cell::Cell;

/// Counts the work of a tree.
pub trait Counters: Default {
    /// Counts a recomputation of a node's halves.
    fn augmentation(&self);
    /// Counts a rotation of a node with its child.
    fn rotation(&self);
    /// Counts a node visited by a search.
    fn visit(&self);
}

/// Counts nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Counters for Off {
    #[inline(always)]
    fn augmentation(&self) {}
    #[inline(always)]
    fn rotation(&self) {}
    #[inline(always)]
    fn visit(&self) {}
}

/// Counts all events.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    augmentations: Cell<u64>,
    rotations: Cell<u64>,
    visits: Cell<u64>,
}

impl Tally {
    /// Number of recomputed nodes, counted once a node and walk, for one half or both.
    #[must_use]
    pub fn augmentations(&self) -> u64 {
        self.augmentations.get()
    }

    /// Number of single rotations; a double rotation counts two.
    #[must_use]
    pub fn rotations(&self) -> u64 {
        self.rotations.get()
    }

    /// Number of nodes visited by searches.
    #[must_use]
    pub fn visits(&self) -> u64 {
        self.visits.get()
    }
}

impl Counters for Tally {
    #[inline]
    fn augmentation(&self) {
        self.augmentations.set(self.augmentations.get() + 1);
    }
    #[inline]
    fn rotation(&self) {
        self.rotations.set(self.rotations.get() + 1);
    }
    #[inline]
    fn visit(&self) {
        self.visits.set(self.visits.get() + 1);
    }
}
