//! Interrupts, as far as a program has them: signals to a thread, wherever it is.
#![expect(
    unsafe_code,
    reason = "a handler is installed, and threads are signalled"
)]

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The signal that is the interrupt.
const INTERRUPT: libc::c_int = libc::SIGUSR1;

/// What is done in an interrupt, as an index into [`HANDLERS`].
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// What can be done in an interrupt: nothing that locks or allocates.
const HANDLERS: [fn(); 2] = [linger, super::nmi::look];

/// What an interrupt does.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// It lasts, while others go on.
    Linger,
    /// It looks frames up.
    Look,
}

/// Threads that may be interrupted, while they live.
static THREADS: Mutex<Vec<Thread>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, PartialEq)]
struct Thread(libc::pthread_t);

// SAFETY: a thread's name means the same in every thread of the process.
unsafe impl Send for Thread {}

/// Takes its thread off the list when that ends.
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

/// From now on to its end this thread may be interrupted.
pub(crate) fn may_interrupt_this_thread() {
    // SAFETY: it asks for a number.
    let this = Thread(unsafe { libc::pthread_self() });
    LISTED.set(Some(Listed(this)));
    THREADS.lock().expect("nothing panics under it").push(this);
}

/// Not any more.
pub(crate) fn spare_this_thread() {
    LISTED.set(None);
}

/// Chooses what interrupts do.
pub(crate) fn install(handler: Handler) {
    CHOSEN.store(handler as usize, Ordering::SeqCst);
    // SAFETY: all zeros are a `sigaction` with an empty mask.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_interrupt as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is whole, and its handler keeps to what a handler may do.
    let failed = unsafe { libc::sigaction(INTERRUPT, &raw const action, ptr::null_mut()) };
    assert_eq!(failed, 0, "the signal exists");
}

/// Interrupts that have been, in this process.
pub(crate) static INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Interrupts every thread that may be.
pub(crate) fn interrupt() {
    // Under the lock, so that none of them ends in between.
    let threads = THREADS.lock().expect("nothing panics under it");
    for Thread(thread) in threads.iter() {
        // SAFETY: the thread has not ended, for it takes itself off the list before.
        let failed = unsafe { libc::pthread_kill(*thread, INTERRUPT) };
        assert_eq!(failed, 0, "the thread lives");
    }
}

extern "C" fn on_interrupt(_: libc::c_int) {
    // SAFETY: every thread has one.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it is this thread's own.
    let saved = unsafe { errno.read() };
    INTERRUPTS.fetch_add(1, Ordering::SeqCst);
    HANDLERS[CHOSEN.load(Ordering::SeqCst)]();
    // SAFETY: it is this thread's own.
    unsafe { errno.write(saved) };
}

/// So long an interrupt lasts: for some changes of a writer.
const LONG_NS: i64 = 30_000;

fn linger() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: LONG_NS,
    };
    // SAFETY: the time is whole, and what is left of it is not asked for.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}
