//! The heap with a count of the bytes that trees hold.
#![expect(unsafe_code, reason = "a source of memory promises what it gives")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

use furlong::maple::{Heap, Source};

/// The heap, with a count of the bytes that this thread's trees hold. It includes nodes in a tree,
/// nodes kept for later, and nodes that readers may still use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metered;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

impl Metered {
    /// Bytes allocated on this thread less bytes freed on it, modulo 2^64.
    #[must_use]
    pub fn bytes() -> u64 {
        BYTES.get()
    }
}

// SAFETY: the heap gives the same guarantee.
unsafe impl Source for Metered {
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        let memory = Heap::allocate(layout)?;
        BYTES.set(BYTES.get().wrapping_add(layout.size() as u64));
        Some(memory)
    }

    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size() as u64));
        // SAFETY: it came from `Heap::allocate` with this layout, as the caller promises.
        unsafe { Heap::free(memory, layout) };
    }
}

#[cfg(test)]
mod tests {
    use furlong::addr::{Extent, VirtAddr};
    use furlong::maple::{Custom, Maple, Wide};

    use super::Metered;

    #[test]
    fn what_a_tree_has_is_metered_and_nothing_is_left() {
        let before = Metered::bytes();
        let mut tree: Maple<VirtAddr, u32, Custom<Wide, Metered>> = Maple::with_config();
        for at in 0..1000 {
            let extent = Extent::from_len(VirtAddr::new(at * 8), 4).unwrap();
            tree.insert(extent, 1).unwrap();
        }
        let nodes = tree.nodes().bytes::<Custom<Wide, Metered>>() as u64;
        let metered = Metered::bytes() - before;
        assert!(nodes <= metered && metered < nodes + 1024, "{metered}");
        drop(tree);
        assert_eq!(Metered::bytes(), before);
    }
}
