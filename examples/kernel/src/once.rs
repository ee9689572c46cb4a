//! A static that is set once, while there is nobody yet who could look.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that is set once.
pub(crate) struct Once<T> {
    value: UnsafeCell<Option<T>>,
    is_set: AtomicBool,
}

// SAFETY: `set` writes once, before it says so; from then on the value is only shared.
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T> Once<T> {
    /// Not set.
    pub(crate) const fn new() -> Self {
        Self {
            value: UnsafeCell::new(None),
            is_set: AtomicBool::new(false),
        }
    }

    /// Sets it.
    ///
    /// # Panics
    /// If it is set.
    pub(crate) fn set(&'static self, value: T) -> &'static T {
        assert!(!self.is_set.load(Ordering::SeqCst), "it is set once");
        // SAFETY: there is one CPU, and what handles its exceptions sets nothing; nobody has a
        // reference before it is set.
        unsafe { *self.value.get() = Some(value) };
        self.is_set.store(true, Ordering::SeqCst);
        self.get()
    }

    /// The value.
    ///
    /// # Panics
    /// If it is not set.
    pub(crate) fn get(&'static self) -> &'static T {
        assert!(self.is_set.load(Ordering::SeqCst), "it was not set yet");
        // SAFETY: it is never written again.
        unsafe { &*self.value.get() }
            .as_ref()
            .expect("what is set has a value")
    }
}
