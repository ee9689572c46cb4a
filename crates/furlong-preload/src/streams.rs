//! The C library's lock of its list of open streams, around a fork.
//!
//! The C library's `fork` takes this lock after all fork handlers have run. `fflush(NULL)` of
//! another thread may hold it, while it waits for a stream, whose reader waits for memory: for the
//! allocator, which is locked. So the allocator takes the lock first, like the C library's own.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use core::{mem, ptr};

use crate::system::found;

/// A function of the C library on its lock, which the same thread may take again.
struct Function(AtomicPtr<c_void>);

impl Function {
    const fn missing() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// # Safety
    /// The C library's function of that name has no arguments and no result.
    unsafe fn find(&self, name: &CStr) {
        self.0.store(found(name), Ordering::SeqCst);
    }

    /// Does nothing if the C library has no such function.
    fn call(&self) {
        let function = self.0.load(Ordering::SeqCst);
        // SAFETY: null, or a function of that type, as `find` requires.
        let function =
            unsafe { mem::transmute::<*mut c_void, Option<unsafe extern "C" fn()>>(function) };
        if let Some(function) = function {
            // SAFETY: the fork handlers call these in the order in which `fork` does.
            unsafe { function() };
        }
    }
}

static LOCK: Function = Function::missing();
static UNLOCK: Function = Function::missing();
static RESET: Function = Function::missing();

/// The C library's byte that is not 0 while the process has one thread; null if it has none.
static ONE_THREAD: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Set between the handlers before and after a fork.
static HELD: AtomicBool = AtomicBool::new(false);

/// Looks the functions up; before, and without them, nothing is locked.
pub(crate) fn find() {
    // SAFETY: it has no arguments and no result in any version.
    unsafe { LOCK.find(c"_IO_list_lock") };
    // SAFETY: as above.
    unsafe { UNLOCK.find(c"_IO_list_unlock") };
    // SAFETY: as above.
    unsafe { RESET.find(c"_IO_list_resetlock") };
    ONE_THREAD.store(found(c"__libc_single_threaded").cast(), Ordering::SeqCst);
}

/// Takes the lock before a fork. `false`, without it, if the process has one thread: a signal
/// handler may fork then, even if the signal came within the allocator or the C library's lock.
pub(crate) fn lock() -> bool {
    let one_thread = ONE_THREAD.load(Ordering::SeqCst);
    // SAFETY: null, or a variable of the C library, which this thread's calls change.
    if !one_thread.is_null() && unsafe { one_thread.read_volatile() } != 0 {
        return false;
    }
    LOCK.call();
    true
}

/// Says that the allocator is held, too.
pub(crate) fn held() {
    HELD.store(true, Ordering::SeqCst);
}

/// Releases the lock after a fork, once `release` has released the allocator, if they are held.
pub(crate) fn unlock(release: impl FnOnce()) {
    if HELD.swap(false, Ordering::SeqCst) {
        release();
        UNLOCK.call();
    }
}

/// As [`unlock`], in the new process. `false` if they are not held.
pub(crate) fn reset(release: impl FnOnce()) -> bool {
    let was_held = HELD.swap(false, Ordering::SeqCst);
    if was_held {
        release();
        RESET.call();
    }
    was_held
}
