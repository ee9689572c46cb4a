//! C++: the operators `new` and `delete`.
//!
//! A throwing `new` calls the program's new-handler as long as there is one, and throws
//! `std::bad_alloc` if there is none. Both belong to the C++ library, which the process may lack,
//! so they are looked up when needed. Exceptions pass through `new`, or end in the non-throwing
//! `new`. So both are written in assembly and leave no Rust frame on the stack.

use core::ffi::{CStr, c_int, c_void};
use core::{iter, mem, ptr};

use crate::kind::Kind;
use crate::system::found;

mod basic;

pub use basic::Basic;
pub(crate) use basic::find_all;

/// The C++ libraries. A program in C that opens a plugin in C++ has one that is not seen by all.
const LIBRARIES: [&CStr; 3] = [c"libstdc++.so.6", c"libc++abi.so.1", c"libc++.so.1"];

/// Finds a function of the C++ library by its name, or null: a plugin may have one of its own in
/// itself.
fn function(name: &CStr) -> *mut c_void {
    let of_all = iter::once_with(|| found(name));
    let of_libraries = LIBRARIES.iter().map(|library| in_library(library, name));
    let mut found = of_all.chain(of_libraries);
    found
        .find(|found| !found.is_null())
        .unwrap_or(ptr::null_mut())
}

/// Finds a function of a library, if that is loaded.
fn in_library(library: &CStr, name: &CStr) -> *mut c_void {
    let mode = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: a name that ends with a zero; it is not loaded now.
    let handle = unsafe { libc::dlopen(library.as_ptr(), mode) };
    if handle.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: that handle, and a name that ends with a zero.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: that handle. Whoever calls `new` from the library still has it.
    unsafe { libc::dlclose(handle) };
    found
}

type Handler = unsafe extern "C-unwind" fn();

/// The program's new-handler.
extern "C" fn handler() -> Option<Handler> {
    let get = function(c"_ZSt15get_new_handlerv");
    if get.is_null() {
        return None;
    }
    // SAFETY: the function of this name in every C++ library, std::get_new_handler.
    let get: unsafe extern "C" fn() -> Option<Handler> = unsafe { mem::transmute(get) };
    // SAFETY: no contract.
    unsafe { get() }
}

/// The function that throws `std::bad_alloc`; without a C++ library, one that ends the program.
extern "C" fn thrower() -> *const c_void {
    let throw = function(c"_ZSt17__throw_bad_allocv");
    if throw.is_null() {
        libc::abort as *const c_void
    } else {
        throw
    }
}

/// A block, or null: the gate of allocation.
extern "C" fn malloc<K: Kind>(size: usize) -> *mut c_void {
    crate::plain::malloc::<K>(size)
}

/// A block at a multiple of `align`, or null.
extern "C" fn allocate<K: Kind>(size: usize, align: usize) -> *mut c_void {
    K::allocator().allocate_aligned(size, align).cast()
}

/// Assembles the body of a non-throwing `new`, `furlong_new_or_null`. Its arguments are a size, an
/// alignment, and the function that allocates. It calls the handler as the others do, and returns
/// null if there is no handler, or if the handler or the program's own `new` throws. C++'s own
/// calls the throwing `new` in a block that catches everything. The table declares this for the
/// calls between the labels `asks` and `asked`, in the form of the C++ ABI. The exception arrives
/// at `thrown`.
macro_rules! catching {
    ($assemble:ident: $($instruction:literal,)+) => {
        $assemble!(
            ".pushsection .text.furlong_new_or_null,\"ax\",@progbits",
            ".hidden furlong_new_or_null",
            ".globl furlong_new_or_null",
            ".type furlong_new_or_null,@function",
            ".hidden {personality}",
            "furlong_new_or_null:",
            ".cfi_startproc",
            // Both are four-byte distances.
            ".cfi_personality 0x1b, {personality}",
            ".cfi_lsda 0x1b, .Lfurlong_new_table",
            $($instruction,)+
            ".cfi_endproc",
            ".size furlong_new_or_null, . - furlong_new_or_null",
            ".popsection",
            ".pushsection .gcc_except_table.furlong_new_or_null,\"a\",@progbits",
            ".balign 4",
            ".Lfurlong_new_table:",
            // Places are distances from the function; types have four bytes.
            ".byte 0xff, 0x03",
            ".uleb128 .Lfurlong_new_types - .Lfurlong_new_after_types",
            ".Lfurlong_new_after_types:",
            ".byte 0x01",
            ".uleb128 .Lfurlong_new_actions - .Lfurlong_new_calls",
            ".Lfurlong_new_calls:",
            ".uleb128 .Lfurlong_new_asks - furlong_new_or_null",
            ".uleb128 .Lfurlong_new_asked - .Lfurlong_new_asks",
            ".uleb128 .Lfurlong_new_thrown - furlong_new_or_null",
            ".uleb128 1",
            ".Lfurlong_new_actions:",
            // The first type, and nothing after it.
            ".byte 1, 0",
            ".balign 4",
            // It matches any exception.
            ".long 0",
            ".Lfurlong_new_types:",
            ".popsection",
            personality = sym crate::cxx::personality,
            handler = sym crate::cxx::handler,
            caught = sym crate::cxx::caught,
        );
    };
}

#[cfg(target_arch = "aarch64")]
#[macro_use]
mod aarch64;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;

/// `new`: a block, or an exception.
///
/// # Safety
/// None.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new<K: Kind>(size: usize) -> *mut c_void {
    operator!(new, malloc::<K>)
}

/// `new` with an alignment: a block, or an exception.
///
/// # Safety
/// `align` is a power of two.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new_aligned<K: Kind>(size: usize, align: usize) -> *mut c_void {
    operator!(new_aligned, allocate::<K>)
}

/// Defines operators that call a basic one if that is the program's own.
macro_rules! derived {
    ($(
        $(#[$about:meta])*
        $name:ident($($argument:ident: $of:ty),*) = $form:ident, $own:ident, $basic:ident;
    )*) => {$(
        $(#[$about])*
        ///
        /// # Safety
        /// An alignment is a power of two.
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name<K: Kind>($($argument: $of),*) -> *mut c_void {
            operator!($form, $own::<K>, Basic::$basic)
        }
    )*};
}

derived! {
    /// `new[]`: a block, or an exception.
    new_row(size: usize) = or_jump, new, New;
    /// `new[]` with an alignment: a block, or an exception.
    new_row_aligned(size: usize, align: usize) = or_jump, new_aligned, NewAt;
    /// Non-throwing `new`: a block, or null.
    new_or_null(size: usize, nothrow: *const c_void) = or_null, malloc, New;
    /// Non-throwing `new[]`: a block, or null.
    new_row_or_null(size: usize, nothrow: *const c_void) = or_null, malloc, NewRow;
    /// Non-throwing `new` with an alignment: a block, or null.
    new_aligned_or_null(size: usize, align: usize, nothrow: *const c_void)
        = or_null, allocate, NewAt;
    /// Non-throwing `new[]` with an alignment: a block, or null.
    new_row_aligned_or_null(size: usize, align: usize, nothrow: *const c_void)
        = or_null, allocate, NewRowAt;
}

/// The personality routine of that frame: calls the one of the C++ library, which exists if
/// anything was thrown, and can read the table.
unsafe extern "C" fn personality(
    version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    /// `_URC_CONTINUE_UNWIND`: this frame has no handler.
    const GO_ON: c_int = 8;

    type Personality = unsafe extern "C" fn(c_int, c_int, u64, *mut c_void, *mut c_void) -> c_int;

    let ask = function(c"__gxx_personality_v0");
    if ask.is_null() {
        return GO_ON;
    }
    // SAFETY: the function of this name in every C++ library.
    let ask: Personality = unsafe { mem::transmute(ask) };
    // SAFETY: the unwinder's own arguments.
    unsafe { ask(version, actions, class, exception, context) }
}

/// Disposes of a caught exception. Without the functions for it, the exception is leaked.
extern "C" fn caught(exception: *mut c_void) {
    let [begin, end] = [c"__cxa_begin_catch", c"__cxa_end_catch"].map(function);
    if begin.is_null() || end.is_null() {
        return;
    }
    // SAFETY: the function of this name in every C++ library.
    let begin: unsafe extern "C" fn(*mut c_void) -> *mut c_void = unsafe { mem::transmute(begin) };
    // SAFETY: as above.
    let end: unsafe extern "C" fn() = unsafe { mem::transmute(end) };
    // SAFETY: the exception that the unwinder passed to the handler.
    unsafe { begin(exception) };
    // SAFETY: the catch has begun.
    unsafe { end() };
}

/// `delete`.
///
/// # Safety
/// `block` is null or a live block of this allocator.
#[inline(always)]
pub unsafe fn delete<K: Kind>(block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { crate::plain::free::<K>(block) };
}

/// `delete` with an alignment, which is ignored: the records have the size.
///
/// # Safety
/// As for [`delete`].
#[inline(always)]
pub unsafe fn delete_aligned<K: Kind>(block: *mut c_void, _: usize) {
    // SAFETY: the caller's promise.
    unsafe { delete::<K>(block) };
}

/// Any other `delete`: calls the basic one if that is the program's own. With the size that was
/// requested, a block of another size stops the program, unless the program has a `new` of its own,
/// which may ask for more.
///
/// # Safety
/// As for [`delete`], or for the program's own.
#[inline(always)]
pub unsafe fn delete_derived<K: Kind>(
    basic: Basic,
    block: *mut c_void,
    align: usize,
    mut size: Option<usize>,
) {
    if !basic::are_all_ours() {
        let theirs = basic::look_up(basic as u32);
        if !theirs.is_null() {
            // SAFETY: the operator of this name. Those without an alignment do not look at it.
            let theirs: unsafe extern "C" fn(*mut c_void, usize) =
                unsafe { mem::transmute(theirs) };
            // SAFETY: the caller's promise.
            return unsafe { theirs(block, align) };
        }
        size = None;
    }
    match size {
        // SAFETY: the caller's promise; a block of `new` is never resized.
        Some(size) if !block.is_null() => unsafe {
            K::allocator().free_exact(block.cast(), size);
        },
        // SAFETY: the caller's promise.
        _ => unsafe { delete::<K>(block) },
    }
}
