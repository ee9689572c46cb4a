//! The operators of the program itself.
//!
//! A program may replace the basic forms of `new` and `delete` alone. By the standard, each other
//! form then calls the basic one: it would otherwise free a block that the program's own `new` has
//! made. The basic forms of a preloaded library are never called in such a program, but the others
//! are, so they look for the program's first.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

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

/// The program's own form, or null.
#[inline(always)]
pub(super) fn replaced(basic: Basic) -> *mut c_void {
    // Relaxed: nothing else is read because of it.
    if ALL_ARE_OURS.load(Ordering::Relaxed) {
        return ptr::null_mut();
    }
    look_up(basic as u32)
}

/// As [`replaced`], for a number of [`Basic`], once it is known that it must be asked.
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

/// Looks for all of them. Several threads may, with the same result.
fn find_all() {
    let mut before = ptr::null_mut();
    let mut all_are_ours = true;
    for (place, name) in NAMES.iter().enumerate() {
        let own = theirs(name);
        let is_row = place % 2 == 1;
        let found = if own.is_null() && is_row { before } else { own };
        // Relaxed: published by the Release below.
        THEIRS[place].store(found, Ordering::Relaxed);
        all_are_ours &= found.is_null();
        before = found;
    }
    // Release, `operators-known`: pairs with the Acquire of `look_up`.
    IS_KNOWN.store(true, Ordering::Release);
    // Relaxed: nothing else is read because of it.
    ALL_ARE_OURS.store(all_are_ours, Ordering::Relaxed);
}

/// The function of a name that all libraries of the process see, unless it is this library's. Null
/// if they do not see this library at all, which somebody has then opened for himself.
fn theirs(name: &CStr) -> *mut c_void {
    // SAFETY: names that end with a zero.
    let [malloc, found] =
        [c"malloc", name].map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    let ours = library(look_up as *const c_void);
    let is_theirs = library(malloc) == ours && library(found) != ours;
    if is_theirs { found } else { ptr::null_mut() }
}

/// The place of the library, or the program, that contains an address.
fn library(address: *const c_void) -> *mut c_void {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address, and a place for the result.
    unsafe { libc::dladdr(address, found.as_mut_ptr()) };
    // SAFETY: all zeros are a value, too.
    unsafe { found.assume_init() }.dli_fbase
}
