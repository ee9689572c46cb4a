//! Latches under Linux: a short spin, and then sleep on a futex.
//!
//! A real-time thread waits by `FUTEX_LOCK_PI`: the holder runs with its priority until it releases
//! the latch, and the latch is handed to the waiter. All other threads sleep on the second word,
//! and a released latch is taken by the first thread that tries. To hand it to a sleeper each time
//! would cost a context switch each time on a busy latch. If the kernel lacks `FUTEX_LOCK_PI`, all
//! threads sleep on the second word.

use core::{
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use super::super::latch::Latch;

/// Attempts before a waiter sleeps: about as long as a latch is held.
const SPINS: usize = 100;

/// The bit that the kernel adds to the holder's number if there is a waiter in the kernel.
const WAITERS: u32 = 1 << 31;

/// Set once the kernel has turned out to lack priority inheritance.
static LENDS_NOTHING: AtomicBool = AtomicBool::new(false);

fn futex(word: &AtomicU32, what: i32, value: u32) -> Result<(), i32> {
    let what = what | libc::FUTEX_PRIVATE_FLAG;
    let no_time: *const libc::timespec = ptr::null();
    // SAFETY: a word that lives as long as the latch, which is for ever.
    let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), what, value, no_time) };
    if done >= 0 {
        return Ok(());
    }
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    Err(unsafe { errno.read() })
}

/// True if the calling thread has real-time priority.
fn is_urgent() -> bool {
    // SAFETY: no contract; 0 is the caller.
    let class = unsafe { libc::sched_getscheduler(0) };
    matches!(
        class & !libc::SCHED_RESET_ON_FORK,
        libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE
    )
}

/// Waits until the caller holds the latch.
#[cold]
pub(super) fn wait(latch: &Latch, caller: u32) {
    for _ in 0..SPINS {
        core::hint::spin_loop();
        if latch.try_lock(caller) {
            return;
        }
    }
    if is_urgent() && !LENDS_NOTHING.load(Ordering::SeqCst) && borrow(latch) {
        return;
    }
    sleep(latch, caller);
}

/// Waits in the kernel, which lends the holder the caller's priority. `false` if it cannot.
fn borrow(latch: &Latch) -> bool {
    loop {
        match futex(latch.holder(), libc::FUTEX_LOCK_PI, 0) {
            Ok(()) => return true,
            // The holder is about to exit, or was forked: try again.
            Err(libc::EAGAIN | libc::EINTR) => {}
            Err(libc::ENOSYS) => {
                LENDS_NOTHING.store(true, Ordering::SeqCst);
                return false;
            }
            // Any other error: sleep instead.
            Err(_) => return false,
        }
    }
}

/// Sleeps on the second word until the caller holds the latch.
fn sleep(latch: &Latch, caller: u32) {
    loop {
        // SeqCst: before the read of the first word; Latch::unlock accesses them in the other
        // order.
        let seen = latch.sleepers().fetch_or(1, Ordering::SeqCst) | 1;
        // The mark stays when the latch is taken: there may be other sleepers.
        if latch.try_lock(caller) {
            return;
        }
        // Whatever the result, the latch is tried again.
        let _ = futex(latch.sleepers(), libc::FUTEX_WAIT, seen);
    }
}

/// Wakes a waiter of a latch that its holder is releasing or has just released.
#[cold]
pub(super) fn wake(latch: &Latch, caller: u32) {
    let holder = latch.holder();
    if holder.load(Ordering::SeqCst) == caller | WAITERS {
        // The kernel hands it to the waiter. It refuses if the number is another thread's, of the
        // process that this one was forked from.
        if futex(holder, libc::FUTEX_UNLOCK_PI, 0).is_err() {
            holder.store(0, Ordering::SeqCst);
        }
    }
    // SeqCst: as in sleep. The new number is even and differs from any that a sleeper has seen.
    let sleepers = latch.sleepers();
    let seen = sleepers.load(Ordering::SeqCst);
    let even = (seen | 1).wrapping_add(1);
    let marked = seen & 1 == 1;
    if marked
        && sleepers
            .compare_exchange(seen, even, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    {
        // A woken sleeper sets the mark again.
        let _ = futex(sleepers, libc::FUTEX_WAKE, 1);
    }
}
