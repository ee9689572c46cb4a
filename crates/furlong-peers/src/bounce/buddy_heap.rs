//! rCore's buddy_system_allocator as a heap: a list of free blocks for each power of two, whose
//! links lie in the blocks. Small kernels and their drivers use it under one lock for everything.
#![expect(
    unsafe_code,
    reason = "its free lists lie in the memory that it hands out"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem;
use std::ptr::NonNull;

use buddy_system_allocator::Heap;
use furlong::bounce::SLOT;
use furlong_experiments_devices::bounce::SlotAllocator;

/// A heap over memory of its own. A run is the number of its first slot.
pub struct BuddyHeap {
    heap: Heap<33>,
    memory: NonNull<u8>,
    whole: Layout,
    /// The number of slots of the run that begins at each slot. Nothing else would detect a double
    /// free.
    taken: Vec<u16>,
}

// SAFETY: heap and memory have one owner, and are used only through it.
unsafe impl Send for BuddyHeap {}

/// The layout of a number of consecutive slots.
fn layout(slots: usize) -> Layout {
    let slot = SLOT as usize;
    Layout::from_size_align(slots * slot, slot).expect("there are few slots")
}

impl SlotAllocator for BuddyHeap {
    type Run = usize;

    /// Aligns the memory to its size, so that all of it is one block.
    fn new(slots: usize) -> Self {
        let whole = layout(slots);
        let whole = whole.align_to(whole.size()).expect("there are few slots");
        // SAFETY: there is at least one slot.
        let memory = unsafe { alloc(whole) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(whole));
        let mut heap = Heap::empty();
        // SAFETY: the memory belongs to this heap alone, until both are dropped.
        unsafe { heap.init(memory.as_ptr().expose_provenance(), whole.size()) };
        Self {
            heap,
            memory,
            whole,
            taken: vec![0; slots],
        }
    }

    #[inline]
    fn allocate(&mut self, slots: usize) -> Option<usize> {
        let block = self.heap.alloc(layout(slots)).ok()?;
        let run = (block.addr().get() - self.memory.addr().get()) / SLOT as usize;
        self.taken[run] = slots as u16;
        Some(run)
    }

    #[inline]
    fn first(run: usize) -> usize {
        run
    }

    #[inline]
    fn free(&mut self, run: usize, slots: usize) {
        let taken = mem::take(&mut self.taken[run]);
        assert_eq!(usize::from(taken), slots, "the run is taken");
        // SAFETY: it lies in the memory, as a slot that has an entry in `taken`.
        let block = unsafe { self.memory.add(run * SLOT as usize) };
        // SAFETY: it was allocated with this layout and not freed since, as just checked.
        unsafe { self.heap.dealloc(block, layout(slots)) };
    }
}

impl Drop for BuddyHeap {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and the heap is not used any more.
        unsafe { dealloc(self.memory.as_ptr(), self.whole) };
    }
}
