//! talc, with memory from the system through talc's own source type: a megabyte or more at a time,
//! which is given back when none of it is in use.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

use talc::TalcLock;
use talc::source::GlobalAllocSource;

use crate::heap::Heap;
use crate::lock::SystemLock;

/// The header before each block, because talc needs the layout to free it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    /// The requested size.
    size: usize,
    /// Bytes from the start of talc's block to the program's: equal to the alignment.
    lead: usize,
}

impl Head {
    /// The layout of header and block; `None` if it would be too long.
    fn layout(self) -> Option<Layout> {
        let whole = self.size.checked_add(self.lead)?;
        Layout::from_size_align(whole, self.lead).ok()
    }

    /// The place of a block's header.
    fn of(block: *mut u8) -> *mut Self {
        block.cast::<Self>().wrapping_sub(1)
    }

    /// The header of a block.
    ///
    /// # Safety
    /// A live block.
    unsafe fn read(block: *mut u8) -> Self {
        // SAFETY: it was written when the block was allocated, inside talc's block.
        unsafe { Self::of(block).read() }
    }

    /// Writes the header into talc's block, if there is one, and returns the program's block behind
    /// it.
    ///
    /// # Safety
    /// Null, or memory of this layout.
    unsafe fn put(self, start: *mut u8) -> *mut u8 {
        if start.is_null() {
            return start;
        }
        // SAFETY: the layout has as many bytes before the program's.
        let block = unsafe { start.add(self.lead) };
        // SAFETY: there are at least sixteen before it, at a multiple of sixteen.
        unsafe { Self::of(block).write(self) };
        block
    }
}

/// A talc heap.
pub(crate) struct Talc(TalcLock<SystemLock, GlobalAllocSource<Pages>>);

impl Talc {
    /// A heap without memory yet.
    pub(crate) const fn new() -> Self {
        Self(TalcLock::new(GlobalAllocSource::new(Pages)))
    }
}

// SAFETY: talc's blocks satisfy it; the header before a block is also inside talc's block.
unsafe impl Heap for Talc {
    fn allocate(&self, size: usize, align: usize) -> *mut u8 {
        let head = Head { size, lead: align };
        let Some(layout) = head.layout() else {
            return ptr::null_mut();
        };
        // SAFETY: the layout is not empty.
        let start = unsafe { self.0.alloc(layout) };
        // SAFETY: memory of this layout, or null.
        unsafe { head.put(start) }
    }

    unsafe fn usable(&self, block: *mut u8) -> usize {
        // SAFETY: the caller's promise.
        unsafe { Head::read(block) }.size
    }

    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let before = unsafe { Head::read(block) };
        let after = Head { size, ..before };
        let (Some(old), Some(new)) = (before.layout(), after.layout()) else {
            return ptr::null_mut();
        };
        // SAFETY: the start of this block's memory.
        let start = unsafe { block.sub(before.lead) };
        // SAFETY: memory of this layout, and the size of a valid layout.
        let start = unsafe { self.0.realloc(start, old, new.size()) };
        // SAFETY: memory of the new layout, or null.
        unsafe { after.put(start) }
    }

    unsafe fn free(&self, block: *mut u8) {
        // SAFETY: the caller's promise.
        let head = unsafe { Head::read(block) };
        let layout = head.layout().expect("it was given by this layout");
        // SAFETY: the start of this block's memory.
        let start = unsafe { block.sub(head.lead) };
        // SAFETY: memory of this layout, which nobody uses any more.
        unsafe { self.0.dealloc(start, layout) };
    }
}

/// The system's pages.
#[derive(Debug)]
struct Pages;

// SAFETY: mappings do not overlap, and are aligned to more than talc requests.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping anywhere.
        let start = unsafe { libc::mmap(ptr::null_mut(), layout.size(), access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            ptr::null_mut()
        } else {
            start.cast()
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: a mapping of this length, which nobody uses any more.
        unsafe { libc::munmap(start.cast(), layout.size()) };
    }
}
