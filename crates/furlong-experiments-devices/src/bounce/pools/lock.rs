//! The lock of an area in the arms: as close to a kernel's as a program can have it.

use std::hint;
use std::thread;

use furlong::sync::{RawLock, TryGuard, TryLock};

/// Spins on a held lock before the CPU is yielded to the holder.
const LOOKS: u32 = 100;

/// A lock that spins, and yields after a while.
///
/// In a kernel, the holder is not preempted. In a program it may be; a lock that only spins would
/// then measure the scheduler's time slice.
#[derive(Debug)]
pub struct YieldingLock(TryLock<()>);

impl Default for YieldingLock {
    fn default() -> Self {
        Self(TryLock::new(()))
    }
}

// SAFETY: a `TryLock` gives one guard at a time, which is the token; accesses before its end happen
// before the next one. It may be moved.
unsafe impl RawLock for YieldingLock {
    type Token<'a> = TryGuard<'a, ()>;

    #[inline]
    fn lock(&self) -> TryGuard<'_, ()> {
        let mut looks = 0_u32;
        loop {
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }

    #[inline]
    unsafe fn unlock<'a>(&'a self, guard: TryGuard<'a, ()>) {
        drop(guard);
    }
}
