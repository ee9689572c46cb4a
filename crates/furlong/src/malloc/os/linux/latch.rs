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

use crate::malloc::{Latch, Linux, PageSource};

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
    // Relaxed: a thread that reads the old value learns it from the kernel.
    let lends = is_urgent() && !LENDS_NOTHING.load(Ordering::Relaxed);
    // A process of a clone that ran no fork handler has its parent's number, and the kernel would
    // put its own into the latch.
    if lends && Linux.caller() == caller && borrow(latch) {
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
                // Relaxed: as in wait.
                LENDS_NOTHING.store(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::{AtomicU32, LENDS_NOTHING, Latch, Linux, Ordering, PageSource, WAITERS};
    use super::{borrow, futex, is_urgent, sleep, wait, wake};

    /// Takes a latch. Returns the caller's number.
    fn hold(latch: &Latch) -> u32 {
        assert!(latch.try_lock(Linux.caller()));
        Linux.caller()
    }

    fn words(latch: &Latch) -> (u32, u32) {
        let [holder, sleepers] = [latch.holder(), latch.sleepers()];
        (
            holder.load(Ordering::SeqCst),
            sleepers.load(Ordering::SeqCst),
        )
    }

    fn until(so: impl Fn() -> bool) {
        let long = (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            so()
        });
        assert!(long, "it never comes");
    }

    #[test]
    fn a_latch_is_handed_to_a_waiter_in_the_kernel() {
        static LATCH: Latch = Latch::new();
        let (latch, own) = (&LATCH, hold(&LATCH));
        let other = thread::spawn(|| (borrow(latch), Linux.caller()));
        until(|| words(latch).0 == own | WAITERS);
        assert!(!other.is_finished());
        latch.unlock(own, |latch| wake(latch, own));
        let (lent, caller) = other.join().expect("it gets the latch");
        assert!(lent);
        assert_eq!((words(latch).0 & !WAITERS, words(latch).1), (caller, 0));
        assert!(!LENDS_NOTHING.load(Ordering::SeqCst));
    }

    #[test]
    fn the_kernel_lends_to_nobody_that_is_not_there() {
        static LATCH: Latch = Latch::new();
        let (latch, own) = (&LATCH, hold(&LATCH));
        assert!(!borrow(latch), "it would wait for itself");
        latch.holder().store((1 << 29) + 1, Ordering::SeqCst);
        assert!(!borrow(latch), "there is no such thread");
        latch.holder().store(0, Ordering::SeqCst);
        assert!(borrow(latch), "it is free");
        assert_eq!(words(latch), (own, 0));
        assert!(!LENDS_NOTHING.load(Ordering::SeqCst));
    }

    #[test]
    fn waking_gives_up_the_latch_of_nobody_else_and_makes_the_mark_even() {
        // A number that is not this thread's, as in a process that was forked.
        const OLD: u32 = (1 << 29) + 1;
        for (before, after) in [
            ((OLD | WAITERS, 0), (0, 0)),
            ((OLD | WAITERS, 5), (0, 6)),
            ((OLD, 0), (OLD, 0)),
            ((7, 1), (7, 2)),
            ((7 | WAITERS, 0), (7 | WAITERS, 0)),
            ((0, 0), (0, 0)),
            ((0, 4), (0, 4)),
            ((0, u32::MAX), (0, 0)),
        ] {
            let latch = Latch::new();
            latch.holder().store(before.0, Ordering::SeqCst);
            latch.sleepers().store(before.1, Ordering::SeqCst);
            wake(&latch, OLD);
            assert_eq!(words(&latch), after, "{before:x?}");
        }
    }

    #[test]
    fn threads_sleep_until_the_latch_is_theirs_one_after_the_other() {
        static LATCH: Latch = Latch::new();
        let (latch, own) = (&LATCH, hold(&LATCH));
        let release = |caller| latch.unlock(caller, |latch| wake(latch, caller));
        let others: Vec<_> = (0..3)
            .map(|_| {
                thread::spawn(move || {
                    Linux.wait(latch, Linux.caller());
                    let seen = words(latch).0;
                    release(Linux.caller());
                    seen == Linux.caller()
                })
            })
            .collect();
        until(|| words(latch) == (own, 1));
        // Long enough for all of them to sleep.
        thread::sleep(Duration::from_millis(50));
        assert!(others.iter().all(|other| !other.is_finished()));
        release(own);
        assert!(
            others
                .into_iter()
                .all(|other| other.join().expect("it gets the latch"))
        );
        assert_eq!(words(latch).0, 0);
    }

    #[test]
    fn a_latch_that_is_free_is_taken_without_sleep() {
        for (take, sleepers) in [(sleep as fn(&Latch, u32), 1), (wait, 0)] {
            let latch = Latch::new();
            take(&latch, 9);
            assert_eq!(words(&latch), (9, sleepers));
        }
    }

    #[test]
    fn the_kernels_errors_are_told_apart() {
        let word = AtomicU32::new(5);
        assert_eq!(futex(&word, libc::FUTEX_WAKE, 1), Ok(()));
        assert_eq!(futex(&word, libc::FUTEX_WAIT, 4), Err(libc::EAGAIN));
        assert_eq!(futex(&word, libc::FUTEX_UNLOCK_PI, 0), Err(libc::EPERM));
    }

    /// Gives the calling thread real-time priority. `false` without the right to it.
    fn becomes_urgent() -> bool {
        // SAFETY: numbers, and with other C libraries more of them, which count nothing here.
        let mut least: libc::sched_param = unsafe { core::mem::zeroed() };
        least.sched_priority = 1;
        for class in [libc::SCHED_RR, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK] {
            // SAFETY: the caller's class, and a parameter.
            if unsafe { libc::sched_setscheduler(0, class, &raw const least) } != 0 {
                return false;
            }
            assert!(is_urgent());
        }
        true
    }

    #[test]
    fn a_thread_with_real_time_priority_is_urgent_and_waits_in_the_kernel() {
        static LATCH: Latch = Latch::new();
        assert!(!is_urgent());
        let (latch, own) = (&LATCH, hold(&LATCH));
        let other = thread::spawn(|| {
            let urgent = becomes_urgent();
            if urgent {
                wait(latch, Linux.caller());
            }
            urgent
        });
        until(|| words(latch) == (own | WAITERS, 0) || other.is_finished());
        latch.unlock(own, |latch| wake(latch, own));
        let had_the_right = other.join().expect("it gets the latch");
        assert_eq!(words(latch).0 != 0, had_the_right);
    }

    /// A process of a clone that ran no fork handler has its parent's number still.
    #[test]
    fn an_urgent_caller_with_another_threads_number_gets_the_latch_by_that_number() {
        static LATCH: Latch = Latch::new();
        let (latch, own) = (&LATCH, hold(&LATCH));
        let other = thread::spawn(|| {
            let urgent = becomes_urgent();
            if urgent {
                wait(latch, 7);
            }
            urgent
        });
        until(|| words(latch) == (own, 1) || other.is_finished());
        latch.unlock(own, |latch| wake(latch, own));
        let had_the_right = other.join().expect("it gets the latch");
        let holder = if had_the_right { 7 } else { 0 };
        assert_eq!(words(latch).0, holder);
    }
}
