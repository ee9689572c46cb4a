//! The lock of an area in the arms: a kernel's, as far as a program can have it.

use std::hint;
use std::thread;

use furlong::sync::{RawLock, TryGuard, TryLock};

/// Looks at a lock that is held before the CPU is offered to its holder.
const LOOKS: u32 = 100;

/// A lock that spins, and yields when that has lasted.
///
/// A kernel's holder is not preempted. A program's may be, and a lock that only spins would then
/// measure how long the scheduler lets it spin.
#[derive(Debug)]
pub struct YieldingLock(TryLock<()>);

impl Default for YieldingLock {
    fn default() -> Self {
        Self(TryLock::new(()))
    }
}

// SAFETY: a `TryLock` gives one guard at a time, which is the token; it orders what comes before
// its end before the next one. It does not mind being moved.
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
