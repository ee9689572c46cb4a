//! Values that know when they are cloned, dropped, and used after their end.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::fuse::user_code;

/// Counts the [`Tracked`] values that are alive. Clones of a watch count together.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<AtomicI64>);

impl Watch {
    /// A watch of no values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A value, its number, on this watch.
    #[must_use]
    pub fn value(&self, number: u64) -> Tracked {
        self.0.fetch_add(1, Ordering::SeqCst);
        Tracked {
            number: Box::new(number),
            watch: self.clone(),
        }
    }

    /// Values that were made or cloned and not dropped.
    ///
    /// # Panics
    /// If more were dropped than were made: one was dropped twice.
    #[must_use]
    pub fn alive(&self) -> u64 {
        let alive = self.0.load(Ordering::SeqCst);
        u64::try_from(alive).expect("no value is dropped twice")
    }
}

/// A value on the heap, so that AddressSanitizer sees every use after its end; its `Clone` and its
/// `Drop` are user code.
#[derive(Debug)]
pub struct Tracked {
    number: Box<u64>,
    watch: Watch,
}

impl Tracked {
    /// The number that it was made with; read from the heap.
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
        // It counts as dropped whether or not the rest panics: its fields are dropped then, too.
        self.watch.0.fetch_sub(1, Ordering::SeqCst);
        user_code("Drop");
    }
}
