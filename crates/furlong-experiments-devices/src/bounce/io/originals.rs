//! The buffers of a job, as a kernel has them: memory with an address, which devices and pools
//! access outside the compiler's knowledge.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use furlong::addr::PhysAddr;

use super::content::Name;
use crate::bounce::buffer::PAGE;
use crate::bounce::test_memory::Place;

/// Buffers of equal length, each aligned to a page.
#[derive(Debug)]
pub(super) struct Originals {
    start: NonNull<u8>,
    count: usize,
    each: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Originals {}
// SAFETY: its memory is accessed by raw accesses only. Each word of it belongs to one request of
// one job at a time.
unsafe impl Sync for Originals {}

impl Originals {
    /// Makes `count` buffers of `each` bytes, a multiple of a page, with the body that all blocks
    /// share.
    pub(super) fn new(count: usize, each: usize) -> Self {
        let layout = Self::layout(count, each);
        assert!(
            layout.size() > 0 && each.is_multiple_of(PAGE),
            "{count} of {each}"
        );
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        let mut body = vec![0; each];
        let first = Name {
            block: 0,
            generation: 0,
        };
        first.write(&mut body);
        let originals = Self { start, count, each };
        let body = NonNull::from(&body[..]).cast();
        for index in 0..count {
            let to = originals.at(index, 0);
            // SAFETY: each buffer and the body are `each` bytes long, and no other code has its
            // address yet.
            unsafe { to.copy_from_nonoverlapping(body, each) };
        }
        originals
    }

    fn layout(count: usize, each: usize) -> Layout {
        let layout = count
            .checked_mul(each)
            .and_then(|size| Layout::from_size_align(size, PAGE).ok());
        layout.expect("buffers are small")
    }

    /// Number of buffers.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of a buffer.
    pub(super) fn each(&self) -> usize {
        self.each
    }

    fn at(&self, index: usize, byte: usize) -> NonNull<u8> {
        assert!(
            index < self.count && byte < self.each,
            "buffer {index}, byte {byte}"
        );
        // SAFETY: inside the allocation, as just checked.
        unsafe { self.start.add(index * self.each + byte) }
    }

    /// A buffer's address for a pool.
    pub(super) fn address(&self, index: usize) -> PhysAddr {
        PhysAddr::new(self.at(index, 0).as_ptr().expose_provenance() as u64)
    }

    /// A buffer's memory for a device.
    pub(super) fn place(&self, index: usize) -> Place<'_> {
        // SAFETY: the buffer is `each` bytes long, is freed when `self` is dropped, and has no
        // references to it.
        unsafe { Place::new(self.at(index, 0), self.each) }
    }

    fn word(&self, index: usize, byte: usize) -> NonNull<u64> {
        assert!(
            byte.is_multiple_of(8) && byte + 8 <= self.each,
            "byte {byte}"
        );
        self.at(index, byte).cast()
    }

    /// Stamps the buffer as a block to be written.
    pub(super) fn stamp(&self, index: usize, name: Name) {
        for (at, word) in name.stamps(self.each) {
            // SAFETY: an aligned word of the buffer, which is the caller's until a device has it.
            unsafe { self.word(index, at).write_volatile(word.to_le()) };
        }
    }

    /// True if the buffer has the stamps of a block.
    pub(super) fn is_stamped(&self, index: usize, name: Name) -> bool {
        name.stamps(self.each).all(|(at, word)| {
            // SAFETY: as in `stamp`.
            let found = unsafe { self.word(index, at).read_volatile() };
            u64::from_le(found) == word
        })
    }
}

impl Drop for Originals {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; each `Place` borrows `self`.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.count, self.each)) };
    }
}
