//! A value under a lock that another structure has.

use core::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use super::{MutPtr, UnsafeCell};

/// A value for whoever holds a certain lock, which is elsewhere.
pub(crate) struct Under<T>(UnsafeCell<T>);

// SAFETY: `lend` gives one thread at a time access to the value, which therefore only has to be
// `Send`.
unsafe impl<T: Send> Sync for Under<T> {}

impl<T> Under<T> {
    /// `value`, which nobody has yet.
    pub(crate) fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Lends the value.
    ///
    /// # Safety
    ///
    /// The caller holds the lock that goes with the value, takes it once, and drops what is
    /// returned before it releases the lock.
    #[inline]
    pub(crate) unsafe fn lend(&self) -> Lent<'_, T> {
        Lent {
            value: self.0.get_mut(),
            of: PhantomData,
        }
    }
}

/// A value that is lent for as long as a lock is held.
pub struct Lent<'a, T> {
    value: MutPtr<T>,
    of: PhantomData<&'a Under<T>>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.with(|value| {
            // SAFETY: while the lock is held only this makes references to the value, as `lend`
            // was promised, shared ones from `&self`.
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
