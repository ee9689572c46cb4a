//! What C asks of a heap: its blocks come back by their address alone, while a kernel's heap wants
//! to be told again what was asked for. Each heap here keeps that where it costs it least.

/// A heap under the functions of C.
///
/// # Safety
/// Blocks are apart from each other, as long and as aligned as they were asked for, and their
/// owner's until they are given back.
pub(crate) unsafe trait Heap {
    /// A block of so many bytes at a multiple of `align`, which is a power of two of at least 16.
    /// Null where there is no memory.
    fn allocate(&self, size: usize, align: usize) -> *mut u8;

    /// The same with zeros. No heap here knows what is zero already.
    fn allocate_zeroed(&self, size: usize, align: usize) -> *mut u8 {
        let block = self.allocate(size, align);
        if !block.is_null() {
            // SAFETY: a block of so many bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// How many bytes of a block the program may use.
    ///
    /// # Safety
    /// A live block of this heap.
    unsafe fn usable(&self, block: *mut u8) -> usize;

    /// Another size for a block, perhaps elsewhere, at a multiple of 16. Null where there is no
    /// memory, and then the block is as it was.
    ///
    /// # Safety
    /// A live block of this heap, which the answer takes the place of.
    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8;

    /// Takes a block back.
    ///
    /// # Safety
    /// A live block of this heap, which nobody uses any more.
    unsafe fn free(&self, block: *mut u8);
}
