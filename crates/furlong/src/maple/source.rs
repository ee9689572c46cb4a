//! Where nodes come from.
#![expect(unsafe_code, reason = "memory is promised by whoever gives it")]

use core::{alloc::Layout, marker::PhantomData, ptr::NonNull};

/// Memory for nodes.
///
/// The functions have no `self`: a node that readers may still have is given back after a grace
/// period, when the tree itself may be gone. A tree asks for memory of four sizes at most, two
/// kinds of nodes and a block of each: a kernel gives each a slab of its own.
///
/// Where one of them panics the tree is whole, and an entry that was to be stored is leaked.
///
/// # Safety
///
/// Whoever implements the trait promises that `allocate` returns memory of that layout that is
/// nobody else's until it is given to `free`, from any thread.
pub unsafe trait Source: 'static {
    /// The bytes of a block of nodes, at most. A copy of a tree has as many of its nodes in blocks
    /// as fill them; a block goes back to the source when the last of its nodes does. Where no two
    /// nodes have room, each is alone.
    const BLOCK: usize = 4096;

    /// Memory of `layout`, which is not of size zero; `None` if there is none.
    fn allocate(layout: Layout) -> Option<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    ///
    /// `memory` came from `allocate` with the same `layout`, and nobody uses it any more.
    unsafe fn free(memory: NonNull<u8>, layout: Layout);
}

/// The heap of the global allocator. Without the feature `alloc` there is none, and never memory:
/// bring a [`Source`] of your own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

// SAFETY: the global allocator promises as much.
unsafe impl Source for Heap {
    #[inline]
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        #[cfg(feature = "alloc")]
        // SAFETY: the trait says that the layout is not of size zero.
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

/// Bytes that CPUs take from each other as a whole.
const LINE: usize = 64;

/// Memory of another source, each piece in cache lines of its own.
///
/// For trees with readers, where the source's pieces may lie in one line with their neighbours:
/// each node that a writer changes then takes a line of another node from its readers. Slabs of a
/// kernel and most allocators keep pieces of these sizes apart, and glibc's does not.
///
/// # Cost
/// That of aligned memory from `S`, and what is left of a node's last line. There are no blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines<S = Heap>(PhantomData<S>);

impl<S> Lines<S> {
    /// Whole lines for a layout. Nodes are far from the largest one that there may be.
    #[inline]
    fn whole(layout: Layout) -> Layout {
        let aligned = layout.align_to(LINE);
        aligned.map_or(layout, |aligned| aligned.pad_to_align())
    }
}

// SAFETY: the other source promises as much, and more memory, more aligned, is of that layout too.
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
