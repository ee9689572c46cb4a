//! The caller's value of an area.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};

use furlong::vmspace::Value;

/// The caller's 64 bits. Equal ones merge.
///
/// A fork replaces them in the child, whose areas are already there by then: only so can it fail
/// for memory before the caller has made the first value.
pub(crate) struct Word(AtomicU64);

impl Word {
    /// The value of a new area.
    pub(crate) fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// The value.
    pub(crate) fn get(&self) -> u64 {
        // Relaxed: the caller's lock orders calls, and only a space under construction is written.
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the value, in a space that the caller does not have yet.
    pub(crate) fn set(&self, value: u64) {
        // Relaxed: as above.
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Clone for Word {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl Value for Word {
    fn merges(&self, next: &Self) -> bool {
        self.get() == next.get()
    }
}
