//! The lock of the heaps: the C library's mutex. Their own locks spin, since a kernel never
//! interrupts a holder. In a program a spinning thread would waste its whole time slice.

use core::cell::UnsafeCell;

use talc::lock_api::{GuardNoSend, RawMutex};

/// A mutex that any thread may use.
struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made for sharing; only the C library accesses it.
unsafe impl Sync for Mutex {}

static MUTEX: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// The lock of a library's heap. There is one heap and one lock a library.
#[derive(Debug)]
pub(crate) struct SystemLock;

// SAFETY: the C library's mutex is exclusive.
unsafe impl RawMutex for SystemLock {
    const INIT: Self = Self;

    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        // SAFETY: an initialised mutex that never moves.
        unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) };
    }

    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_trylock(MUTEX.0.get()) == 0 }
    }

    unsafe fn unlock(&self) {
        // SAFETY: as above, and the caller holds it.
        unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) };
    }
}
