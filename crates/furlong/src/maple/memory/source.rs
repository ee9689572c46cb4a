//! Memory for nodes.
#![expect(unsafe_code, reason = "the giver of memory promises that it is valid")]

use core::{alloc::Layout, marker::PhantomData, ptr::NonNull};

/// The allocator of a tree's nodes.
///
/// The functions have no `self`, because a node that readers may still use is freed after a grace
/// period, when the tree itself may be gone. A tree allocates at most four sizes: two kinds of
/// nodes, and a block of each. A kernel gives each size a slab of its own.
///
/// If one of the functions panics, the tree stays valid, and an entry that was to be stored is
/// leaked.
///
/// # Safety
///
/// The implementor promises that `allocate` returns memory of that layout which nobody else uses
/// until it is given to `free`, from any thread.
pub unsafe trait Source: 'static {
    /// The largest size of a block of nodes, in bytes. A copy of a tree has its nodes in blocks, as
    /// far as they fill whole ones. A block is freed with the last of its nodes. If fewer than two
    /// nodes fit, each node is allocated alone.
    const BLOCK: usize = 4096;

    /// Allocates memory of `layout`, whose size is not zero; `None` if out of memory.
    fn allocate(layout: Layout) -> Option<NonNull<u8>>;

    /// Frees memory.
    ///
    /// # Safety
    ///
    /// `memory` came from `allocate` with the same `layout`, and nobody uses it any more.
    unsafe fn free(memory: NonNull<u8>, layout: Layout);
}

/// The global allocator. Without the feature `alloc` it never has memory: bring a [`Source`] of
/// your own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

// SAFETY: the global allocator makes the same promise.
unsafe impl Source for Heap {
    #[inline]
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        #[cfg(feature = "alloc")]
        // SAFETY: the trait demands that the size of the layout is not zero.
        let memory = NonNull::new(unsafe { alloc::alloc::alloc(layout) });
        #[cfg(not(feature = "alloc"))]
        let memory = (layout.size() == 0).then_some(NonNull::dangling());
        memory
    }

    #[inline]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        #[cfg(feature = "alloc")]
        // SAFETY: it came from `alloc` with this layout, as the caller promises.
        unsafe {
            alloc::alloc::dealloc(memory.as_ptr(), layout);
        };
        #[cfg(not(feature = "alloc"))]
        let _ = (memory, layout);
    }
}

/// The size of a cache line, in bytes.
const LINE: usize = 64;

/// Memory of another source, with each piece in cache lines of its own.
///
/// For trees with readers, if pieces from the source may share a cache line with their neighbours.
/// Each node that a writer changes would then take a line of another node from its readers. A
/// kernel's slabs and most allocators keep pieces of these sizes apart; glibc's malloc does not.
///
/// # Cost
/// That of aligned memory from `S`, and the unused rest of a node's last line. There are no blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines<S = Heap>(PhantomData<S>);

impl<S> Lines<S> {
    /// Rounds a layout up to whole lines. The sizes of nodes are far below the limit of a layout.
    #[inline]
    fn whole(layout: Layout) -> Layout {
        let aligned = layout.align_to(LINE);
        aligned.map_or(layout, |aligned| aligned.pad_to_align())
    }
}

// SAFETY: `S` makes the same promise, and larger memory with more alignment also fits the layout.
unsafe impl<S: Source> Source for Lines<S> {
    const BLOCK: usize = 0;

    #[inline]
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        S::allocate(Self::whole(layout))
    }

    #[inline]
    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: it came from `allocate` with this layout, as the caller promises.
        unsafe { S::free(memory, Self::whole(layout)) };
    }
}
