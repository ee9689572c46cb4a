//! The operators of the program itself.
//!
//! A program may replace the basic forms of `new` and `delete` alone. By the standard, each other
//! form then calls the basic one: it would otherwise free a block that the program's own `new` has
//! made. The basic forms of a preloaded library are never called in such a program, but the others
//! are, so they look for the program's first.
#![forbid(unsafe_code)]

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::system::{found, library_of};

/// A form that others call. That of a row calls the one before it.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Basic {
    /// `delete`.
    Delete,
    /// `delete[]`.
    DeleteRow,
    /// `delete` with an alignment.
    DeleteAt,
    /// `delete[]` with an alignment.
    DeleteRowAt,
    /// `new`.
    New,
    /// `new[]`.
    NewRow,
    /// `new` with an alignment.
    NewAt,
    /// `new[]` with an alignment.
    NewRowAt,
}

/// Their names, in this order.
const NAMES: [&CStr; 8] = [
    c"_ZdlPv",
    c"_ZdaPv",
    c"_ZdlPvSt11align_val_t",
    c"_ZdaPvSt11align_val_t",
    c"_Znwm",
    c"_Znam",
    c"_ZnwmSt11align_val_t",
    c"_ZnamSt11align_val_t",
];

/// True once it is known that the program has none of its own.
pub(super) static ALL_ARE_OURS: AtomicBool = AtomicBool::new(false);

/// True once `THEIRS` has all.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// The program's own, null where it has none.
static THEIRS: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NAMES.len()];

/// True if the program has none of its own; false also before that is known.
#[inline(always)]
pub(super) fn are_all_ours() -> bool {
    // Relaxed: nothing else is read because of it.
    ALL_ARE_OURS.load(Ordering::Relaxed)
}

/// The program's own form of a [`Basic`], or null.
#[cold]
pub(super) extern "C" fn look_up(basic: u32) -> *mut c_void {
    // Acquire, `operators-known`: pairs with the Release below.
    if !IS_KNOWN.load(Ordering::Acquire) {
        find_all();
    }
    let theirs = THEIRS.get(basic as usize);
    // Relaxed: `operators-known` has published it.
    theirs.map_or(ptr::null_mut(), |theirs| theirs.load(Ordering::Relaxed))
}

/// Looks for all of them, when the library is loaded. An operator that is called earlier may do the
/// same, with the same result. Later the loader's lock may be held by a thread that waits for this
/// one.
pub(crate) fn find_all() {
    // The C library's is found if somebody has opened this library for himself: no other sees it.
    let c_library = library_of(libc::getauxval as *const c_void);
    let is_alone = c_library.contains(&found(c"malloc").addr());
    let ours = library_of(look_up as *const c_void);
    let mut before = ptr::null_mut();
    let mut all_are_ours = true;
    for (place, name) in NAMES.iter().enumerate() {
        let own = found(name);
        let is_theirs = !is_alone && !ours.contains(&own.addr());
        let theirs = match is_theirs {
            true => own,
            false if place % 2 == 1 => before,
            false => ptr::null_mut(),
        };
        // Relaxed: published by the Release below.
        THEIRS[place].store(theirs, Ordering::Relaxed);
        all_are_ours &= theirs.is_null();
        before = theirs;
    }
    // Release, `operators-known`: pairs with the Acquire of `look_up`.
    IS_KNOWN.store(true, Ordering::Release);
    // Relaxed: nothing else is read because of it.
    ALL_ARE_OURS.store(all_are_ours, Ordering::Relaxed);
}
