//! Interrupts as far as a process has them: signals to a thread at any instruction.
#![expect(
    unsafe_code,
    reason = "a handler is installed, and threads are signalled"
)]

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The signal that serves as the interrupt.
const INTERRUPT: libc::c_int = libc::SIGUSR1;

/// The handler in use, as an index into [`HANDLERS`].
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// The handlers. None of them locks or allocates.
const HANDLERS: [fn(); 2] = [linger, super::nmi::look];

/// The work of an interrupt.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Waits while other threads continue.
    Linger,
    /// Looks up frames.
    Look,
}

/// The threads that may be interrupted. A thread is removed before it ends.
static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, PartialEq)]
struct Thread(libc::pthread_t);

// SAFETY: a thread's handle is valid in every thread of the process.
unsafe impl Send for Thread {}

/// Removes its thread from the list when that thread ends.
struct Listed(Thread);

impl Drop for Listed {
    fn drop(&mut self) {
        let mut threads = THREADS.lock().expect("nothing panics under it");
        threads.retain(|thread| *thread != self.0);
    }
}

thread_local! {
    static LISTED: RefCell<Option<Listed>> = const { RefCell::new(None) };
}

/// Allows interrupts of this thread from now until its end.
pub(crate) fn may_interrupt_this_thread() {
    // SAFETY: it only returns a handle.
    let this = Thread(unsafe { libc::pthread_self() });
    LISTED.set(Some(Listed(this)));
    THREADS.lock().expect("nothing panics under it").push(this);
}

/// Disallows interrupts of this thread.
pub(crate) fn spare_this_thread() {
    LISTED.set(None);
}

/// Chooses the handler.
pub(crate) fn install(handler: Handler) {
    CHOSEN.store(handler as usize, Ordering::SeqCst);
    // SAFETY: all zeros are a valid `sigaction` with an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_interrupt as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete, and its handler is async-signal-safe.
    let failed = unsafe { libc::sigaction(INTERRUPT, &raw const action, ptr::null_mut()) };
    assert_eq!(failed, 0, "the signal exists");
}

/// The number of interrupts in this process so far.
pub(crate) static INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Interrupts every registered thread.
pub(crate) fn interrupt() {
    // Under the lock, so that no thread ends in the meantime.
    let threads = THREADS.lock().expect("nothing panics under it");
    for Thread(thread) in threads.iter() {
        // SAFETY: the thread has not ended, because it removes itself from the list first.
        let failed = unsafe { libc::pthread_kill(*thread, INTERRUPT) };
        assert_eq!(failed, 0, "the thread lives");
    }
}

extern "C" fn on_interrupt(_: libc::c_int) {
    // SAFETY: every thread has an errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it belongs to this thread.
    let saved = unsafe { errno.read() };
    INTERRUPTS.fetch_add(1, Ordering::SeqCst);
    HANDLERS[CHOSEN.load(Ordering::SeqCst)]();
    // SAFETY: it belongs to this thread.
    unsafe { errno.write(saved) };
}

/// Duration of a long interrupt: enough for some changes by a writer.
pub(crate) const LONG_NS: u64 = 30_000;

fn linger() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: LONG_NS as i64,
    };
    // SAFETY: the time is valid, and the remaining time is not requested.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}
