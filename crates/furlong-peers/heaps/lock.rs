//! The lock of the heaps: the C library's. Theirs spin, since a kernel sees to it that nobody is
//! interrupted who has one; in a program that would cost a waiting thread its whole turn.

use core::cell::UnsafeCell;

use talc::lock_api::{GuardNoSend, RawMutex};

/// A mutex that any thread may reach.
struct Shared(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is there to be shared; only the C library looks into it.
unsafe impl Sync for Shared {}

static MUTEX: Shared = Shared(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// The one lock, under which every heap of a library is: there is one.
#[derive(Debug)]
pub(crate) struct SystemLock;

// SAFETY: the C library's mutex is exclusive.
unsafe impl RawMutex for SystemLock {
    const INIT: Self = Self;

    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        // SAFETY: a mutex that is initialised and never moves.
        unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) };
    }

    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_trylock(MUTEX.0.get()) == 0 }
    }

    unsafe fn unlock(&self) {
        // SAFETY: as above, and the caller has it.
        unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) };
    }
}
