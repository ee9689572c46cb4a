//! A lock of one word for what is slow anyway; waiting is the system's.
#![forbid(unsafe_code)]

use crate::sync::{
    atomic::{AtomicBool, Ordering},
    const_unless_loom,
};

/// A lock without a value; the record that it is in says what it guards.
#[derive(Debug)]
pub(crate) struct Latch(AtomicBool);

impl Latch {
    const_unless_loom! {
        pub(crate) const fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// Takes it if nobody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        // Relaxed: a look.
        !self.0.load(Ordering::Relaxed)
            && self
                .0
                // Acquire: pairs with the Release in unlock. Relaxed: a failure says nothing.
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Takes it, and calls `relax` as long as another has it.
    #[inline]
    pub(crate) fn lock(&self, relax: impl Fn()) {
        while !self.try_lock() {
            relax();
        }
    }

    /// Gives it back. Only its holder may.
    #[inline]
    pub(crate) fn unlock(&self) {
        // Release: pairs with the Acquire in try_lock.
        self.0.store(false, Ordering::Release);
    }
}
