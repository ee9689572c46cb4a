//! The function of a C program that is told when something is wrong.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{mem, ptr};

use furlong::malloc::{Linux, Misuse, Trouble};

/// A function of C: it gets the number of the trouble, and the address of the block.
pub type Hook = Option<unsafe extern "C" fn(c_int, *const c_void)>;

/// The program's function; null is none.
static HOOK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `furlong_malloc_on_trouble`: sets the function that is told of trouble; null removes it.
pub fn on_trouble<K>(hook: Hook) {
    let address = hook.map_or(ptr::null_mut(), |hook| hook as *mut c_void);
    HOOK.store(address, Ordering::SeqCst);
    Linux::on_trouble(hook.map(|_| tell as fn(Trouble)));
}

fn tell(trouble: Trouble) {
    // The numbers of the header.
    let (number, address) = match trouble {
        Trouble::Misuse { misuse, address } => (number(misuse), address),
        _ => (0, 0),
    };
    let hook = HOOK.load(Ordering::SeqCst);
    // SAFETY: null, or a function of this type.
    if let Some(hook) = unsafe { mem::transmute::<*mut c_void, Hook>(hook) } {
        // SAFETY: the program has set it for this.
        unsafe { hook(number, ptr::without_provenance(address)) };
    }
}

const fn number(misuse: Misuse) -> c_int {
    match misuse {
        Misuse::DoubleFree => 1,
        Misuse::NotABlock => 2,
        Misuse::Foreign => 3,
        Misuse::WrittenAfterFree => 4,
        Misuse::Overrun => 5,
        Misuse::WrongSize => 6,
        Misuse::UsedAfterFree => 7,
        Misuse::OutOfBounds => 8,
        // A misuse of a later version.
        _ => -1,
    }
}
