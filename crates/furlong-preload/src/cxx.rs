//! C++: the operators `new` and `delete`.
//!
//! A throwing `new` calls the program's new-handler as long as there is one, and throws
//! `std::bad_alloc` when there is none. Both are the C++ library's, which the process may or may
//! not have; they are looked up when they are wanted. Exceptions pass through `new`, so it is of
//! instructions that leave no frame of Rust on the stack.

use core::{
    ffi::{CStr, c_void},
    mem, ptr,
};

use crate::kind::Kind;

/// Finds a function of the process by its name.
fn function(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
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

/// What throws `std::bad_alloc`, or, without a C++ library, ends the program.
extern "C" fn thrower() -> *const c_void {
    let throw = function(c"_ZSt17__throw_bad_allocv");
    if throw.is_null() {
        libc::abort as *const c_void
    } else {
        throw
    }
}

/// A block, or null.
extern "C" fn allocate<K: Kind>(size: usize, align: usize) -> *mut c_void {
    K::allocator().allocate_aligned(size, align).cast()
}

/// `new` with an alignment: a block, or an exception.
///
/// # Safety
/// `align` is a power of two.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new_aligned<K: Kind>(size: usize, align: usize) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbx, -16",
        "push r14",
        ".cfi_def_cfa_offset 24",
        ".cfi_offset r14, -24",
        "push rax",
        ".cfi_def_cfa_offset 32",
        "mov rbx, rdi",
        "mov r14, rsi",
        "2:",
        "mov rdi, rbx",
        "mov rsi, r14",
        "call {allocate}",
        "test rax, rax",
        "jne 3f",
        "call {handler}",
        "test rax, rax",
        "je 4f",
        "call rax",
        "jmp 2b",
        "4:",
        "call {thrower}",
        "add rsp, 8",
        ".cfi_def_cfa_offset 24",
        "pop r14",
        ".cfi_def_cfa_offset 16",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "jmp rax",
        ".cfi_def_cfa_offset 32",
        "3:",
        "add rsp, 8",
        ".cfi_def_cfa_offset 24",
        "pop r14",
        ".cfi_def_cfa_offset 16",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_endproc",
        allocate = sym allocate::<K>,
        handler = sym handler,
        thrower = sym thrower,
    )
}

/// `new`: a block, or an exception.
///
/// # Safety
/// None.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new<K: Kind>(size: usize) -> *mut c_void {
    core::arch::naked_asm!("mov esi, 16", "jmp {}", sym new_aligned::<K>)
}

/// `new` that does not throw, with an alignment: a block, or null.
///
/// # Safety
/// `align` is a power of two.
pub unsafe fn new_aligned_or_null<K: Kind>(
    size: usize,
    align: usize,
    _: *const c_void,
) -> *mut c_void {
    loop {
        let block = allocate::<K>(size, align);
        if !block.is_null() {
            return block;
        }
        let Some(handler) = handler() else {
            return ptr::null_mut();
        };
        // SAFETY: the program's own, which it has set for this.
        unsafe { handler() };
    }
}

/// `new` that does not throw: a block, or null.
///
/// # Safety
/// None.
pub unsafe fn new_or_null<K: Kind>(size: usize, nothrow: *const c_void) -> *mut c_void {
    // SAFETY: 16 is a power of two.
    unsafe { new_aligned_or_null::<K>(size, 16, nothrow) }
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

/// `delete` with one argument more, which the records know better.
///
/// # Safety
/// As for [`delete`].
#[inline(always)]
pub unsafe fn delete_with<K: Kind>(block: *mut c_void, _: usize) {
    // SAFETY: the caller's promise.
    unsafe { delete::<K>(block) };
}

/// `delete` with two arguments more.
///
/// # Safety
/// As for [`delete`].
#[inline(always)]
pub unsafe fn delete_with_both<K: Kind>(block: *mut c_void, _: usize, _: usize) {
    // SAFETY: the caller's promise.
    unsafe { delete::<K>(block) };
}
