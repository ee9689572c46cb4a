//! Exclusive access to a value in a cell, for as long as something is held.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::MutPtr;
use crate::forms::debug_as;

/// Exclusive access to a value, with what ensures it: a lock that is held.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Guard<T, H> {
    // Fields are dropped in this order: the access ends before the lock is released.
    value: MutPtr<T>,
    #[expect(dead_code, reason = "held for its drop")]
    held: H,
}

impl<T, H> Guard<T, H> {
    /// Access to a value.
    ///
    /// # Safety
    /// While `held` lives, the value exists and only this guard makes references to it.
    #[inline]
    pub(super) unsafe fn new(value: MutPtr<T>, held: H) -> Self {
        Self { value, held }
    }
}

impl<T, H> Deref for Guard<T, H> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.with(|value| {
            // SAFETY: the contract of `new`; shared references come from `&self`.
            unsafe { &*value }
        })
    }
}

impl<T, H> DerefMut for Guard<T, H> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.with(|value| {
            // SAFETY: as in `deref`; `&mut self` excludes other references through this guard.
            unsafe { &mut *value }
        })
    }
}

debug_as! { Guard<T, H> where [T: fmt::Debug, H]: |it| Guard(**it) }
