//! A value protected by a lock elsewhere.

use core::marker::PhantomData;

use super::UnsafeCell;
use super::guard::Guard;

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
        // SAFETY: the cell is borrowed; the caller keeps everybody else from the value.
        unsafe { Guard::new(self.0.get_mut(), PhantomData) }
    }
}

/// A value that is lent while a lock is held.
pub type Lent<'a, T> = Guard<T, PhantomData<&'a ()>>;
