//! The heap interface below the C functions. C frees blocks by address alone, but a kernel's heap
//! needs the size again. Each heap here keeps it in the cheapest way.

/// A heap below the C functions.
///
/// # Safety
/// Blocks do not overlap, have at least the requested size and alignment, and belong to their owner
/// until they are freed.
pub(crate) unsafe trait Heap {
    /// A block of `size` bytes at a multiple of `align`, which is a power of two of at least 16.
    /// Null if out of memory.
    fn allocate(&self, size: usize, align: usize) -> *mut u8;

    /// As [`allocate`](Self::allocate), filled with zeros. No heap here knows which memory is zero
    /// already.
    fn allocate_zeroed(&self, size: usize, align: usize) -> *mut u8 {
        let block = self.allocate(size, align);
        if !block.is_null() {
            // SAFETY: a block of this size.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// The number of bytes of a block that the program may use.
    ///
    /// # Safety
    /// A live block of this heap.
    unsafe fn usable(&self, block: *mut u8) -> usize;

    /// Resizes a block, perhaps by moving it, at a multiple of 16. Null if out of memory; then the
    /// block is unchanged.
    ///
    /// # Safety
    /// A live block of this heap, which the result replaces.
    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8;

    /// Frees a block.
    ///
    /// # Safety
    /// A live block of this heap, which nobody uses any more.
    unsafe fn free(&self, block: *mut u8);
}
