//! The operators for x86_64.

use core::ffi::c_void;

use super::{allocate, handler, malloc, thrower};
use crate::kind::Kind;

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

/// `new`: a block, or an exception. Like `new_aligned`, but most programs in C++ allocate by this,
/// so it does no more than it must.
///
/// # Safety
/// None.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new<K: Kind>(size: usize) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbx, -16",
        "mov rbx, rdi",
        "2:",
        "call {malloc}",
        "test rax, rax",
        "je 3f",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_def_cfa_offset 16",
        "3:",
        "call {handler}",
        "test rax, rax",
        "je 4f",
        "call rax",
        "mov rdi, rbx",
        "jmp 2b",
        "4:",
        "call {thrower}",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "jmp rax",
        ".cfi_endproc",
        malloc = sym malloc::<K>,
        handler = sym handler,
        thrower = sym thrower,
    )
}

catching! {
    "push rbx",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbx, -16",
    "push r14",
    ".cfi_def_cfa_offset 24",
    ".cfi_offset r14, -24",
    "push r15",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset r15, -32",
    "mov rbx, rdi",
    "mov r14, rsi",
    "mov r15, rdx",
    ".Lfurlong_new_again:",
    "mov rdi, rbx",
    "mov rsi, r14",
    "call r15",
    "test rax, rax",
    "jne .Lfurlong_new_done",
    "call {handler}",
    "test rax, rax",
    "je .Lfurlong_new_done",
    ".Lfurlong_new_asks:",
    "call rax",
    ".Lfurlong_new_asked:",
    "jmp .Lfurlong_new_again",
    ".Lfurlong_new_thrown:",
    "mov rdi, rax",
    "call {caught}",
    "xor eax, eax",
    ".Lfurlong_new_done:",
    "pop r15",
    ".cfi_def_cfa_offset 24",
    "pop r14",
    ".cfi_def_cfa_offset 16",
    "pop rbx",
    ".cfi_def_cfa_offset 8",
    "ret",
}

/// Non-throwing `new` with an alignment: a block, or null.
///
/// # Safety
/// `align` is a power of two.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new_aligned_or_null<K: Kind>(
    size: usize,
    align: usize,
    nothrow: *const c_void,
) -> *mut c_void {
    core::arch::naked_asm!(
        "lea rdx, [rip + {}]",
        "jmp furlong_new_or_null",
        sym allocate::<K>,
    )
}

/// Non-throwing `new`: a block, or null.
///
/// # Safety
/// None.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn new_or_null<K: Kind>(
    size: usize,
    nothrow: *const c_void,
) -> *mut c_void {
    core::arch::naked_asm!(
        "lea rdx, [rip + {}]",
        "jmp furlong_new_or_null",
        sym malloc::<K>,
    )
}
