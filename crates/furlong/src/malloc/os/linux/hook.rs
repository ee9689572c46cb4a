//! The function of the program that is called when an allocation fails or a misuse is found.

use core::ffi::c_void;
use core::mem;
use core::ptr;

use crate::malloc::{Linux, Misuse, without_unwinding};
use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Something that a program may want to report: see [`Linux::on_trouble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// An allocation is about to fail, because memory has run out or the request is too large. If
    /// it is that of a `realloc` to a shorter length, the block stays as it is.
    Refused,
    /// The program is about to be stopped because of a misuse of the block or pointer at an
    /// address.
    Misuse {
        /// The mistake.
        misuse: Misuse,
        /// The block, or the pointer that is none.
        address: usize,
    },
}

/// A function that is told of trouble.
pub type Hook = fn(Trouble);

/// A variable for a [`Hook`].
struct Slot {
    /// Null is none.
    hook: AtomicPtr<c_void>,
    /// The process in which it runs; 0 is none. In a process that was forked meanwhile it does not.
    runs_in: AtomicU32,
}

/// The process's hook.
static HOOK: Slot = Slot::empty();

impl Linux {
    /// Sets the function that is told of trouble, for all allocators over `Linux` of the process;
    /// `None` removes it. Trouble while the function runs is not reported.
    ///
    /// Of a misuse it is told after the message on standard error and before the abort, perhaps
    /// under a latch or in a handler of a signal. So it must not call the allocator, and only what
    /// a handler may. Of a refusal it is told while no latch is held: it may allocate and free.
    pub fn on_trouble(hook: Option<Hook>) {
        HOOK.set(hook);
    }
}

/// Tells the program of trouble.
#[cold]
pub(super) fn tell(trouble: Trouble) {
    HOOK.tell(trouble);
}

impl Slot {
    const fn empty() -> Self {
        Self {
            hook: AtomicPtr::new(ptr::null_mut()),
            runs_in: AtomicU32::new(0),
        }
    }

    fn set(&self, hook: Option<Hook>) {
        let hook = hook.map_or(ptr::null_mut(), |hook| hook as *mut c_void);
        // Release: pairs with the Acquire in tell, whose function may need what was prepared.
        self.hook.store(hook, Ordering::Release);
    }

    fn tell(&self, trouble: Trouble) {
        // Acquire: pairs with the Release in set.
        let hook = self.hook.load(Ordering::Acquire);
        // SAFETY: null, or a function of this type.
        let Some(call) = (unsafe { mem::transmute::<*mut c_void, Option<Hook>>(hook) }) else {
            return;
        };
        // SAFETY: no contract.
        let process = unsafe { libc::getpid() }.cast_unsigned();
        // Relaxed: it only says if the function runs.
        if self.runs_in.swap(process, Ordering::Relaxed) != process {
            without_unwinding(|| call(trouble));
            // Relaxed: as above.
            self.runs_in.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{Misuse, Slot, Trouble};

    static SLOT: Slot = Slot::empty();
    static TOLD: Mutex<Vec<Trouble>> = Mutex::new(Vec::new());

    /// Notes the trouble, and gets into more of it. Removes itself at the third.
    fn note(trouble: Trouble) {
        let mut told = TOLD.lock().expect("nothing panics");
        told.push(trouble);
        if told.len() == 3 {
            SLOT.set(None);
        }
        SLOT.tell(Trouble::Refused);
    }

    #[test]
    fn a_hook_is_told_of_each_trouble_but_of_none_that_it_makes() {
        let overrun = Trouble::Misuse {
            misuse: Misuse::Overrun,
            address: 64,
        };
        SLOT.tell(overrun);
        SLOT.set(Some(note));
        SLOT.tell(overrun);
        SLOT.tell(Trouble::Refused);
        SLOT.tell(overrun);
        SLOT.tell(overrun);
        let told = TOLD.lock().expect("nothing panics");
        assert_eq!(*told, [overrun, Trouble::Refused, overrun]);
    }
}
