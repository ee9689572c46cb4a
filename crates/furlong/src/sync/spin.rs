//! A spin lock.

use super::RawLock;
use super::atomic::{AtomicBool, Ordering, spin_loop};
use crate::forms::default_is_new;

/// One word and a loop: the simplest [`RawLock`].
///
/// It is neither fair nor aware of interrupts. A kernel should use its own lock. If an operating
/// system may preempt the holder, a lock that sleeps is the better choice (`std::sync::Mutex<()>`
/// is a [`RawLock`] under the feature `std`).
#[derive(Debug)]
pub struct SpinLock {
    held: AtomicBool,
}

impl SpinLock {
    const_unless_loom! {
        /// An unlocked lock.
        pub const fn new() -> Self {
            Self { held: AtomicBool::new(false) }
        }
    }
}

default_is_new! { SpinLock }

// SAFETY: `held` goes from false to true in one compare-and-exchange, which one caller wins, and
// back in `unlock` only; the pair `spin-unlock` orders.
unsafe impl RawLock for SpinLock {
    type Token<'a> = ();

    #[inline]
    fn lock(&self) {
        // Acquire: pairs with `spin-unlock`; all effects of the last holder are seen. A failed
        // attempt reads nothing else and may be relaxed.
        while self
            .held
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            // Relaxed: only waits until the lock looks free, reading a line that stays shared.
            while self.held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): ()) {
        // Release, `spin-unlock`: pairs with the exchange in `lock`.
        self.held.store(false, Ordering::Release);
    }
}
