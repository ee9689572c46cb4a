//! A lock that is never waited for.

use super::UnsafeCell;
use super::atomic::{AtomicBool, Ordering};
use super::guard::Guard;
use crate::forms::debug_as;

/// A value that one caller at a time may use; every other caller finds it taken.
///
/// For work that one caller must do but none must wait for. It is safe to try from an interrupt
/// handler: if the interrupted code holds the lock, the handler finds it taken and continues.
///
/// # Example
///
/// ```
/// use furlong::sync::TryLock;
///
/// let work = TryLock::new(1);
/// let mut mine = work.try_lock().unwrap();
/// *mine += 1;
/// assert!(work.try_lock().is_none());
/// drop(mine);
/// assert_eq!(*work.try_lock().unwrap(), 2);
/// ```
pub struct TryLock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `taken` goes from false to true in one exchange, which one thread wins, so one thread at
// a time reaches the value, which therefore only has to be `Send`.
unsafe impl<T: Send> Sync for TryLock<T> {}

impl<T> TryLock<T> {
    const_unless_loom! {
        /// A lock around `value` that is not taken.
        pub const fn new(value: T) -> Self {
            Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
        }
    }

    /// Takes the lock, or returns `None` at once if it is taken.
    ///
    /// # Cost
    ///
    /// One compare-and-exchange, and none if the lock is seen to be taken.
    #[inline]
    pub fn try_lock(&self) -> Option<TryGuard<'_, T>> {
        // Relaxed: a read-only check; the exchange decides.
        if self.taken.load(Ordering::Relaxed) {
            return None;
        }
        // Acquire: pairs with `try-unlock`; all writes of the last holder are seen. A failed
        // attempt reads nothing else and may be relaxed.
        self.taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let hold = Hold(&self.taken);
        // SAFETY: the cell lives in this lock, which `hold` borrows; while that is taken nobody
        // else reaches the value.
        Some(unsafe { Guard::new(self.value.get_mut(), hold) })
    }

    /// The value, without locking: the exclusive borrow shows that the lock is free.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.with_mut(|value| {
            // SAFETY: `&mut self` excludes every other access for as long as the result lives.
            unsafe { &mut *value }
        })
    }
}

debug_as! { TryLock<T> where [T]: TryLock { .. } }

/// Access to the value of a [`TryLock`]; dropping it releases the lock.
pub type TryGuard<'a, T> = Guard<T, Hold<'a>>;

pub struct Hold<'a>(&'a AtomicBool);

impl Drop for Hold<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release, `try-unlock`: pairs with the exchange in `try_lock`.
        self.0.store(false, Ordering::Release);
    }
}
