//! The functions that compilers call for copies. A C library would have them, and the precompiled
//! core library for such a target leaves them to it.
//!
//! String instructions: no loop here can be made a call of the function that it is in.

use core::arch::asm;

/// Copies `len` bytes forwards: words, then what is left. An emulator counts each step.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller has `len` bytes in both places, which are apart.
    unsafe {
        asm!(
            "rep movsq", "mov rcx, {left}", "rep movsb",
            left = in(reg) len % 8,
            inout("rcx") len / 8 => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// Copies `len` bytes in the direction in which nothing is overwritten before it is read.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if to.addr().wrapping_sub(from.addr()) >= len {
        // SAFETY: what is written lies below what has yet to be read, or apart from all of it, and
        // a word is read before it is written.
        return unsafe { memcpy(to, from, len) };
    }
    let (last_to, last_from) = (to.wrapping_add(len - 1), from.wrapping_add(len - 1));
    // SAFETY: `len` bytes in both places, the last one first; the direction is put back.
    unsafe {
        asm!(
            "std", "rep movsb", "cld",
            inout("rcx") len => _, inout("rdi") last_to => _, inout("rsi") last_from => _,
            options(nostack),
        );
    }
    to
}

/// Sets `len` bytes: words, then what is left.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller has `len` bytes there.
    unsafe {
        asm!(
            "rep stosq", "mov rcx, {left}", "rep stosb",
            left = in(reg) len % 8,
            in("rax") u64::from_ne_bytes([byte as u8; 8]),
            inout("rcx") len / 8 => _, inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// Compares `len` bytes: less than, equal to or greater than 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    for at in 0..len {
        // SAFETY: the caller has `len` bytes in both places.
        let one = unsafe { one.wrapping_add(at).read() };
        // SAFETY: as above.
        let other = unsafe { other.wrapping_add(at).read() };
        if one != other {
            return i32::from(one) - i32::from(other);
        }
    }
    0
}

/// Returns non-zero if the first `len` bytes differ.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { memcmp(one, other, len) }
}
