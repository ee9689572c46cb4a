//! A number whose reads and end loom tracks.

use furlong::sync::UnsafeCell;

/// A number that is written to when it is made and when it is dropped: a thread that still uses it
/// fails the model.
pub(crate) struct Number(UnsafeCell<u64>);

// SAFETY: it is written only by its owner, before it is shared and when it is dropped. Loom checks
// every access.
unsafe impl Sync for Number {}

impl Number {
    pub(crate) fn new(number: u64) -> Self {
        let made = Self(UnsafeCell::new(0));
        made.set(number);
        made
    }

    pub(crate) fn get(&self) -> u64 {
        // SAFETY: loom fails the model on any concurrent write.
        self.0.with(|number| unsafe { *number })
    }

    fn set(&self, to: u64) {
        // SAFETY: loom fails the model on any other concurrent access.
        self.0.with_mut(|number| unsafe { *number = to });
    }
}

impl Clone for Number {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.set(u64::MAX);
    }
}
