//! The C library's lock of its list of open streams, around a fork.
//!
//! The C library's `fork` takes this lock after all fork handlers have run. `fflush(NULL)` of
//! another thread may hold it, while it waits for a stream, whose reader waits for memory: for the
//! arena, which is locked. So the lock is taken first, as the C library does for its own allocator.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use core::{mem, ptr};

use crate::system::found;

/// The C library's functions that take the lock, give it back, and reset it in a new process; null
/// if it has none. They are looked up once: that takes another lock.
static CALLS: [AtomicPtr<c_void>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];
const NAMES: [&CStr; 3] = [c"_IO_list_lock", c"_IO_list_unlock", c"_IO_list_resetlock"];
const LOCK: usize = 0;
const UNLOCK: usize = 1;
const RESET: usize = 2;

/// The C library's byte that is not 0 while the process has one thread; null if it has none.
static ONE_THREAD: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Set between the handlers before and after a fork.
static HELD: AtomicBool = AtomicBool::new(false);

/// Looks the functions up.
pub(crate) fn find() {
    for (call, name) in CALLS.iter().zip(NAMES) {
        call.store(found(name), Ordering::SeqCst);
    }
    ONE_THREAD.store(found(c"__libc_single_threaded").cast(), Ordering::SeqCst);
}

fn call(which: usize) {
    let function = CALLS[which].load(Ordering::SeqCst);
    // SAFETY: null, or one of these functions, which have no arguments and no result.
    let function =
        unsafe { mem::transmute::<*mut c_void, Option<unsafe extern "C" fn()>>(function) };
    if let Some(function) = function {
        // SAFETY: the fork handlers call them in the order in which `fork` does.
        unsafe { function() };
    }
}

/// Takes the lock before a fork, and then `take`s the arena. Neither if the process has one thread:
/// a signal handler may fork then, even if the signal came within the arena.
pub(crate) fn lock(take: impl FnOnce()) {
    let one_thread = ONE_THREAD.load(Ordering::SeqCst);
    // SAFETY: null, or a byte of the C library, which this thread's calls change.
    if one_thread.is_null() || unsafe { one_thread.read_volatile() } == 0 {
        call(LOCK);
        take();
        HELD.store(true, Ordering::SeqCst);
    }
}

/// Releases what [`lock`] took, in the process that has forked.
pub(crate) fn unlock(release: impl FnOnce()) {
    if HELD.swap(false, Ordering::SeqCst) {
        release();
        call(UNLOCK);
    }
}

/// As [`unlock`], in the new process.
pub(crate) fn reset(release: impl FnOnce()) {
    if HELD.swap(false, Ordering::SeqCst) {
        release();
        call(RESET);
    }
}
