//! Values that detect clones, drops and uses after their end.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::fuse::user_code;

/// Counts the live [`Tracked`] values. Clones of a watch share one count.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<AtomicI64>);

impl Watch {
    /// A watch that counts no values yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A new value with this number, counted by this watch.
    #[must_use]
    pub fn value(&self, number: u64) -> Tracked {
        self.0.fetch_add(1, Ordering::SeqCst);
        Tracked {
            number: Box::new(number),
            watch: self.clone(),
        }
    }

    /// The number of values made or cloned and not yet dropped.
    ///
    /// # Panics
    /// If more values were dropped than made: one was dropped twice.
    #[must_use]
    pub fn alive(&self) -> u64 {
        let alive = self.0.load(Ordering::SeqCst);
        u64::try_from(alive).expect("no value is dropped twice")
    }
}

/// A value on the heap, so that AddressSanitizer sees every use after its end. Its `Clone` and
/// `Drop` are user code.
#[derive(Debug)]
pub struct Tracked {
    number: Box<u64>,
    watch: Watch,
}

impl Tracked {
    /// The value's number, read from the heap.
    #[must_use]
    pub fn number(&self) -> u64 {
        *self.number
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Self {
        user_code("Clone");
        self.watch.value(self.number())
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        // The value counts as dropped even if the rest panics, because its fields are dropped then,
        // too.
        self.watch.0.fetch_sub(1, Ordering::SeqCst);
        user_code("Drop");
    }
}
