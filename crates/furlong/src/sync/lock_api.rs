//! Locks of the crate `lock_api` as raw locks.

use super::RawLock;
use crate::forms::default_is_new;

/// Any lock of the crate `lock_api`, such as those of `parking_lot`, `spin` and many kernels, as a
/// [`RawLock`].
///
/// # Example
/// ```
/// use furlong::sync::{Lock, LockApi};
///
/// fn counter<R: lock_api::RawMutex>() -> Lock<LockApi<R>, u64> {
///     Lock::new(LockApi::new(), 0)
/// }
/// ```
#[derive(Debug)]
pub struct LockApi<R>(R);

impl<R: ::lock_api::RawMutex> LockApi<R> {
    /// An unlocked lock.
    pub const fn new() -> Self {
        Self(R::INIT)
    }
}

default_is_new! { LockApi<R> where [R: ::lock_api::RawMutex] }

// SAFETY: an implementer of `lock_api::RawMutex` promises mutual exclusion, and that a holder sees
// the effects of the previous one, since `lock_api::Mutex` lends its value on that basis. That type
// owns its raw mutex and may be moved while it is not held.
unsafe impl<R: ::lock_api::RawMutex> RawLock for LockApi<R> {
    type Token<'a>
        = ()
    where
        R: 'a;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    unsafe fn unlock(&self, (): ()) {
        // SAFETY: the caller holds the lock, in this context.
        unsafe { self.0.unlock() };
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::LockApi;
    use crate::sync::Lock;

    /// The simplest lock for the crate's trait.
    struct Flag(AtomicBool);

    // SAFETY: one exchange wins the flag, and only its winner releases it.
    unsafe impl ::lock_api::RawMutex for Flag {
        const INIT: Self = Self(AtomicBool::new(false));
        type GuardMarker = ::lock_api::GuardNoSend;

        fn lock(&self) {
            while !self.try_lock() {
                thread::yield_now();
            }
        }

        fn try_lock(&self) -> bool {
            !self.0.swap(true, Ordering::SeqCst)
        }

        unsafe fn unlock(&self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }

    #[test]
    fn threads_under_another_crates_lock_take_turns() {
        static SUM: Lock<LockApi<Flag>, u64> = Lock::new(LockApi::new(), 0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *SUM.lock() += 1));
            }
        });
        assert_eq!(*SUM.lock(), 4000);
    }
}
