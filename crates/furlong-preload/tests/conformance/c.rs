//! The C functions that a row calls, and the access to their blocks.

use core::ffi::{c_int, c_void};
use core::{mem, ptr};

/// A block of C, or null.
pub(crate) type Block = *mut c_void;

mod names {
    use super::Block;

    unsafe extern "C" {
        pub(crate) fn valloc(size: usize) -> Block;
        pub(crate) fn pvalloc(size: usize) -> Block;
        pub(crate) fn reallocarray(block: Block, count: usize, size: usize) -> Block;
        pub(crate) fn aligned_alloc(align: usize, size: usize) -> Block;
        pub(crate) fn memalign(align: usize, size: usize) -> Block;
    }
}

fn errno_place() -> *mut c_int {
    // SAFETY: no contract; it is this thread's errno.
    unsafe { libc::__errno_location() }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: this thread's errno, which always exists. Volatile, because the compiler assumes that
    // `malloc` does not write errno, and would return the value written before.
    unsafe { errno_place().read_volatile() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { errno_place().write(value) };
}

pub(crate) fn malloc(size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { libc::malloc(size) }
}

pub(crate) fn calloc(count: usize, size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { libc::calloc(count, size) }
}

/// Frees a block. Rows free their blocks once.
pub(crate) fn free(block: Block) {
    // SAFETY: null, or a block that nobody uses any more.
    unsafe { libc::free(block) };
}

pub(crate) fn realloc(block: Block, size: usize) -> Block {
    // SAFETY: null, or a live block.
    unsafe { libc::realloc(block, size) }
}

pub(crate) fn reallocarray(count: usize, size: usize) -> Block {
    // SAFETY: no block.
    unsafe { names::reallocarray(ptr::null_mut(), count, size) }
}

/// Resizes a block to another number of elements.
pub(crate) fn resize_array(block: Block, count: usize, size: usize) -> Block {
    // SAFETY: a live block.
    unsafe { names::reallocarray(block, count, size) }
}

/// Frees with the size, if there is such a function, and else without.
pub(crate) fn free_sized(block: Block, size: usize) {
    // SAFETY: a name that ends with a zero.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"free_sized".as_ptr()) };
    if function.is_null() {
        return free(block);
    }
    // SAFETY: the function of this name in C.
    let function: unsafe extern "C" fn(Block, usize) = unsafe { mem::transmute(function) };
    // SAFETY: null, or a block of this size that nobody uses any more.
    unsafe { function(block, size) };
}

pub(crate) fn aligned_alloc(align: usize, size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { names::aligned_alloc(align, size) }
}

pub(crate) fn memalign(align: usize, size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { names::memalign(align, size) }
}

/// The code, and the value of the variable afterwards, which began as the address 1.
pub(crate) fn posix_memalign(align: usize, size: usize) -> (c_int, Block) {
    let mut block = ptr::without_provenance_mut(1);
    // SAFETY: a variable for the block.
    let code = unsafe { libc::posix_memalign(&raw mut block, align, size) };
    (code, block)
}

pub(crate) fn valloc(size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { names::valloc(size) }
}

pub(crate) fn pvalloc(size: usize) -> Block {
    // SAFETY: no contract.
    unsafe { names::pvalloc(size) }
}

pub(crate) fn usable_size(block: Block) -> usize {
    // SAFETY: null, or a live block.
    unsafe { libc::malloc_usable_size(block) }
}

pub(crate) fn trim() {
    // SAFETY: no contract.
    unsafe { libc::malloc_trim(0) };
}

/// Writes the first `len` bytes.
pub(crate) fn fill(block: Block, len: usize, byte: u8) {
    // SAFETY: a live block of at least as many bytes.
    unsafe { block.cast::<u8>().write_bytes(byte, len) };
}

/// The first `len` bytes, all of which have been written.
pub(crate) fn bytes<'a>(block: Block, len: usize) -> &'a [u8] {
    // SAFETY: a live block of at least as many bytes; rows do not keep them longer.
    unsafe { core::slice::from_raw_parts(block.cast(), len) }
}
