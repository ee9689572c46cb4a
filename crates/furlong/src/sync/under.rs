//! A value protected by a lock elsewhere.

use core::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use super::{MutPtr, UnsafeCell};

/// A value for the holder of a certain lock, which is stored elsewhere.
pub(crate) struct Under<T>(UnsafeCell<T>);

// SAFETY: `lend` gives one thread at a time access to the value, which therefore only has to be
// `Send`.
unsafe impl<T: Send> Sync for Under<T> {}

impl<T> Under<T> {
    /// `value`, not yet lent.
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Lends the value.
    ///
    /// # Safety
    ///
    /// The caller holds the lock that protects the value, takes the value only once, and drops the
    /// result before it releases the lock.
    #[inline]
    pub(crate) unsafe fn lend(&self) -> Lent<'_, T> {
        Lent {
            value: self.0.get_mut(),
            of: PhantomData,
        }
    }
}

/// A value that is lent while a lock is held.
pub struct Lent<'a, T> {
    value: MutPtr<T>,
    of: PhantomData<&'a Under<T>>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.with(|value| {
            // SAFETY: while the lock is held only this makes references to the value, by the
            // contract of `lend`, shared ones from `&self`.
            unsafe { &*value }
        })
    }
}

impl<T> DerefMut for Lent<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.with(|value| {
            // SAFETY: as in `deref`; `&mut self` excludes other references through this.
            unsafe { &mut *value }
        })
    }
}

impl<T: fmt::Debug> fmt::Debug for Lent<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lent").field(&**self).finish()
    }
}
