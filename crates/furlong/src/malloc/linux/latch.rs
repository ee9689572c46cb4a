//! Latches under Linux: a short spin, and then sleep on a futex.
//!
//! A thread of the real-time classes waits by `FUTEX_LOCK_PI`: the holder runs with its priority
//! until it gives the latch back, which goes to the one that waits. All others sleep on the second
//! word, and whoever comes first has the latch: if it were handed over to a sleeper each time, a
//! busy latch would cost a change of threads each time. A kernel without `FUTEX_LOCK_PI` has all
//! of them do so.

use core::{
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use super::super::latch::Latch;

/// How often a waiter looks before it sleeps: about as long as latches are held.
const SPINS: usize = 100;

/// What the kernel adds to the holder's number when somebody waits in it.
const WAITERS: u32 = 1 << 31;

/// This kernel does not lend priorities.
static LENDS_NOTHING: AtomicBool = AtomicBool::new(false);

fn futex(word: &AtomicU32, what: i32, value: u32) -> Result<(), i32> {
    let what = what | libc::FUTEX_PRIVATE_FLAG;
    let no_time: *const libc::timespec = ptr::null();
    // SAFETY: a word that lives as long as the latch, which is for ever.
    let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), what, value, no_time) };
    if done >= 0 {
        return Ok(());
    }
    // SAFETY: it always returns this thread's.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    Err(unsafe { errno.read() })
}

/// Whether the calling thread runs before all normal ones.
fn is_urgent() -> bool {
    // SAFETY: no contract; 0 is the caller.
    let class = unsafe { libc::sched_getscheduler(0) };
    matches!(
        class & !libc::SCHED_RESET_ON_FORK,
        libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE
    )
}

/// Waits until the caller has the latch.
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

/// Waits in the kernel, which lends the holder the caller's priority. `false`: it cannot.
fn borrow(latch: &Latch) -> bool {
    loop {
        match futex(latch.holder(), libc::FUTEX_LOCK_PI, 0) {
            Ok(()) => return true,
            // The holder is about to end, or was forked: it is asked again.
            Err(libc::EAGAIN | libc::EINTR) => {}
            Err(libc::ENOSYS) => {
                LENDS_NOTHING.store(true, Ordering::SeqCst);
                return false;
            }
            // Whatever else is wrong with it, sleep does without.
            Err(_) => return false,
        }
    }
}

/// Sleeps on the second word until the caller has the latch.
fn sleep(latch: &Latch, caller: u32) {
    loop {
        // SeqCst: before the look at the first word, as Latch::unlock looks in the other order.
        let seen = latch.sleepers().fetch_or(1, Ordering::SeqCst) | 1;
        // The mark stays when the latch is taken: others may sleep that this one does not know.
        if latch.try_lock(caller) {
            return;
        }
        // Whatever it says, the latch is looked at again.
        let _ = futex(latch.sleepers(), libc::FUTEX_WAIT, seen);
    }
}

/// Wakes one that waits for a latch that its holder gives back, or has given back just now.
#[cold]
pub(super) fn wake(latch: &Latch, caller: u32) {
    let holder = latch.holder();
    if holder.load(Ordering::SeqCst) == caller | WAITERS {
        // The kernel gives it to the one that waits. Where it does not, the number was another
        // thread's, of the process that this one was forked from.
        if futex(holder, libc::FUTEX_UNLOCK_PI, 0).is_err() {
            holder.store(0, Ordering::SeqCst);
        }
    }
    // SeqCst: as in sleep. Even again, and another number than any sleeper has seen.
    let sleepers = latch.sleepers();
    let seen = sleepers.load(Ordering::SeqCst);
    let even = (seen | 1).wrapping_add(1);
    let marked = seen & 1 == 1;
    if marked
        && sleepers
            .compare_exchange(seen, even, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    {
        // Whoever is woken marks it again.
        let _ = futex(sleepers, libc::FUTEX_WAKE, 1);
    }
}
