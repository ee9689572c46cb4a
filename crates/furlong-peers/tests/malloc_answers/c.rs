//! The C functions that a row calls, hidden from the compiler. It knows these functions, and would
//! remove calls whose results are unused.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

/// A block of C, or null.
pub(crate) type Block = *mut c_void;

mod names {
    use super::Block;

    unsafe extern "C" {
        pub(crate) fn pvalloc(size: usize) -> Block;
    }
}

pub(crate) fn malloc(size: usize) -> Block {
    // SAFETY: no contract.
    black_box(unsafe { libc::malloc(black_box(size)) })
}

pub(crate) fn calloc(count: usize, size: usize) -> Block {
    // SAFETY: no contract.
    black_box(unsafe { libc::calloc(black_box(count), black_box(size)) })
}

/// Frees a block. Rows free their blocks once.
pub(crate) fn free(block: Block) {
    // SAFETY: null, or a block that nobody uses any more.
    unsafe { libc::free(black_box(block)) };
}

pub(crate) fn realloc(block: Block, size: usize) -> Block {
    // SAFETY: null, or a live block.
    black_box(unsafe { libc::realloc(black_box(block), black_box(size)) })
}

pub(crate) fn reallocarray(block: Block, count: usize, size: usize) -> Block {
    // SAFETY: null, or a live block.
    black_box(unsafe { libc::reallocarray(black_box(block), black_box(count), black_box(size)) })
}

pub(crate) fn aligned_alloc(align: usize, size: usize) -> Block {
    // SAFETY: no contract.
    black_box(unsafe { libc::aligned_alloc(black_box(align), black_box(size)) })
}

pub(crate) fn memalign(align: usize, size: usize) -> Block {
    // SAFETY: no contract.
    black_box(unsafe { libc::memalign(black_box(align), black_box(size)) })
}

pub(crate) fn pvalloc(size: usize) -> Block {
    // SAFETY: no contract.
    black_box(unsafe { names::pvalloc(black_box(size)) })
}

/// The return code, and the block.
pub(crate) fn posix_memalign(align: usize, size: usize) -> (i32, Block) {
    let mut block = ptr::null_mut();
    // SAFETY: a place for the block.
    let code = unsafe { libc::posix_memalign(&raw mut block, black_box(align), size) };
    (code, black_box(block))
}

pub(crate) fn usable(block: Block) -> usize {
    // SAFETY: null, or a live block.
    unsafe { libc::malloc_usable_size(black_box(block)) }
}

pub(crate) fn errno() -> i32 {
    // SAFETY: it always returns this thread's errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above. Volatile, because the compiler assumes that `malloc` does not write it.
    unsafe { place.read_volatile() }
}

/// Fills the first `len` bytes of a block, which has as many.
pub(crate) fn fill(block: Block, len: usize, byte: u8) {
    // SAFETY: rows fill only bytes that they were given.
    unsafe { black_box(block).cast::<u8>().write_bytes(byte, len) };
}

/// True if the first `len` bytes of a block are all `byte`. All of them must have been written.
pub(crate) fn is_filled(block: Block, len: usize, byte: u8) -> bool {
    // SAFETY: rows read only bytes that they or the allocator have written.
    let bytes = unsafe { std::slice::from_raw_parts(black_box(block).cast::<u8>(), len) };
    bytes.iter().all(|found| *found == byte)
}
