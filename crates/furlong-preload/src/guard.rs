//! The handler of faults: says which mistake with a block that has guard pages caused one.

use core::ffi::{c_int, c_void};
use core::{mem, ptr};

use crate::kind::Kind;

/// Sets the handler, unless a library that was loaded before has set one.
pub(crate) fn watch<K: Kind>() {
    // SAFETY: all zeros are a value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: a place for the result.
    unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &raw mut action) };
    if action.sa_sigaction != libc::SIG_DFL {
        return;
    }
    action.sa_sigaction = (faulted::<K> as *const c_void).expose_provenance();
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: a handler that is never unloaded. It calls nothing that a handler may not.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut()) };
}

/// Stops the program if the fault is one of a block with guard pages. Otherwise the signal comes
/// again, to a process without a handler.
extern "C" fn faulted<K: Kind>(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system's description of the signal.
    let info = unsafe { &*info };
    let is_fault = info.si_code > 0;
    if is_fault {
        // SAFETY: a fault has an address.
        let address = unsafe { info.si_addr() };
        K::allocator().explain_fault(address.cast());
    }
    // SAFETY: no contract.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    if !is_fault {
        // SAFETY: no contract. Another process, or this one, has sent it.
        unsafe { libc::raise(signal) };
    }
}
