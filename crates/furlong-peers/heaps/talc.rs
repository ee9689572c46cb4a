//! talc, with memory from the system by its own source for that: a megabyte or more at a time,
//! which goes back when nothing of it is in use.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

use talc::TalcLock;
use talc::source::GlobalAllocSource;

use crate::heap::Heap;
use crate::lock::SystemLock;

/// What stands before each block, for talc must be told it again.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    /// Bytes that were asked for.
    size: usize,
    /// Bytes from where talc's block begins to where the program's does: as many as it is aligned
    /// to.
    lead: usize,
}

impl Head {
    /// The layout of both; nothing where there is none that long.
    fn layout(self) -> Option<Layout> {
        let whole = self.size.checked_add(self.lead)?;
        Layout::from_size_align(whole, self.lead).ok()
    }

    /// Where it stands.
    fn of(block: *mut u8) -> *mut Self {
        block.cast::<Self>().wrapping_sub(1)
    }

    /// That of a block.
    ///
    /// # Safety
    /// A live block.
    unsafe fn read(block: *mut u8) -> Self {
        // SAFETY: it was written when the block was made, inside what talc gave.
        unsafe { Self::of(block).read() }
    }

    /// Puts it into what talc gave, if it gave anything; the program's block behind it.
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

/// A heap of talc's.
pub(crate) struct Talc(TalcLock<SystemLock, GlobalAllocSource<Pages>>);

impl Talc {
    /// A heap without memory yet.
    pub(crate) const fn new() -> Self {
        Self(TalcLock::new(GlobalAllocSource::new(Pages)))
    }
}

// SAFETY: talc's blocks are; what stands before a block is talc's to give, too.
unsafe impl Heap for Talc {
    fn allocate(&self, size: usize, align: usize) -> *mut u8 {
        let head = Head { size, lead: align };
        let Some(layout) = head.layout() else {
            return ptr::null_mut();
        };
        // SAFETY: it is longer than nothing.
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
        // SAFETY: where this block's memory begins.
        let start = unsafe { block.sub(before.lead) };
        // SAFETY: memory of this layout, and a size that is one of a layout.
        let start = unsafe { self.0.realloc(start, old, new.size()) };
        // SAFETY: memory of the new layout, or null.
        unsafe { after.put(start) }
    }

    unsafe fn free(&self, block: *mut u8) {
        // SAFETY: the caller's promise.
        let head = unsafe { Head::read(block) };
        let layout = head.layout().expect("it was given by this layout");
        // SAFETY: where this block's memory begins.
        let start = unsafe { block.sub(head.lead) };
        // SAFETY: memory of this layout, which nobody uses any more.
        unsafe { self.0.dealloc(start, layout) };
    }
}

/// The system's memory, page by page.
#[derive(Debug)]
struct Pages;

// SAFETY: mappings are apart from each other, and aligned to more than talc asks for.
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
