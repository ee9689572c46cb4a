//! The functions of C that a row asks, out of the compiler's sight: it knows what they do, and
//! would leave out what nobody looks at.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

/// A block of C's, or null.
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

/// Rows free what they have, once.
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

/// What it answers, and the block.
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
    // SAFETY: it always returns this thread's.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above. The compiler takes it that `malloc` does not write it.
    unsafe { place.read_volatile() }
}

/// Fills so many bytes of a block, which has them.
pub(crate) fn fill(block: Block, len: usize, byte: u8) {
    // SAFETY: rows fill what they have been given.
    unsafe { black_box(block).cast::<u8>().write_bytes(byte, len) };
}

/// Whether so many bytes of a block, all of which were written, are these.
pub(crate) fn is_filled(block: Block, len: usize, byte: u8) -> bool {
    // SAFETY: rows look at what they or the allocator have written.
    let bytes = unsafe { std::slice::from_raw_parts(black_box(block).cast::<u8>(), len) };
    bytes.iter().all(|found| *found == byte)
}
