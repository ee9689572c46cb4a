//! The allocator and its zones as allocators for collections, by the crate `allocator-api2`.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use crate::malloc::{Config, Global, Zone};

type Answer = Result<NonNull<[u8]>, AllocError>;

/// A block of the requested size. A request for no bytes gets no block but an aligned address,
/// because collections that shrink to nothing never give it back.
fn answer(layout: Layout, allocate: impl FnOnce(Layout) -> Option<NonNull<u8>>) -> Answer {
    let start = if layout.size() == 0 {
        NonNull::new(ptr::without_provenance_mut(layout.align()))
    } else {
        allocate(layout)
    };
    Ok(NonNull::slice_from_raw_parts(
        start.ok_or(AllocError)?,
        layout.size(),
    ))
}

/// A block for another layout: resized in place, or moved if it is not aligned to the new
/// alignment.
///
/// # Safety
/// `block` is live, of this allocator and of the old layout; `resize` resizes it to the size and
/// alignment of the new layout.
unsafe fn fitted(
    allocator: &impl Allocator,
    block: NonNull<u8>,
    (old, new): (Layout, Layout),
    resize: impl FnOnce() -> Option<NonNull<u8>>,
) -> Answer {
    let is_block = old.size() > 0 && new.size() > 0;
    if is_block && block.addr().get().is_multiple_of(new.align()) {
        return answer(new, |_| resize());
    }
    let moved = allocator.allocate(new)?;
    let len = old.size().min(new.size());
    // SAFETY: two blocks of at least this size, one of them new.
    unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.cast().as_ptr(), len) };
    // SAFETY: the caller gave it up for the new one.
    unsafe { allocator.deallocate(block, old) };
    Ok(moved)
}

/// # Example
/// ```
/// use allocator_api2::vec::Vec;
/// use furlong::malloc::{
///     Batched, Checked, Config, Global, Inlined, Linux, thread_heap,
/// };
///
/// struct Program;
///
/// impl Config for Program {
///     type Source = Linux;
///     type Current = Thread;
///     type Hardening = Checked;
///     type Gate = Inlined;
///     type Tier = Batched;
/// }
///
/// thread_heap!(Thread, static MALLOC: Malloc<Program> = Linux);
///
/// let mut numbers = Vec::new_in(Global::new(&MALLOC));
/// numbers.extend(0..1000_u64);
/// assert!(MALLOC.statistics().used_bytes >= 8000);
/// drop(numbers);
/// assert_eq!(MALLOC.statistics().used_blocks, 0);
/// ```
// SAFETY: blocks have the size and alignment of their layouts, and belong to their holder alone
// until they are freed. Copies refer to the same allocator, a static.
unsafe impl<C: Config> Allocator for Global<C> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Answer {
        answer(layout, |layout| {
            NonNull::new(self.malloc().allocate_layout(layout))
        })
    }

    #[inline]
    fn allocate_zeroed(&self, layout: Layout) -> Answer {
        answer(layout, |layout| {
            NonNull::new(self.malloc().allocate_layout_zeroed(layout))
        })
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.malloc().free(block.as_ptr()) };
        }
    }

    unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Answer {
        let resize = || {
            // SAFETY: the caller's promise; the block is at a multiple of the new alignment.
            NonNull::new(unsafe {
                self.malloc()
                    .resize(block.as_ptr(), new.size(), new.align())
            })
        };
        // SAFETY: the caller's promise.
        unsafe { fitted(self, block, (old, new), resize) }
    }

    unsafe fn shrink(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Answer {
        // SAFETY: the caller's promise; `grow` works for either order of the sizes.
        unsafe { self.grow(block, old, new) }
    }
}

/// # Example
/// ```
/// # use furlong::malloc::{
/// #     Batched, Checked, Config, Inlined, Linux, Zone, thread_heap,
/// # };
/// # struct Program;
/// # impl Config for Program {
/// #     type Source = Linux;
/// #     type Current = Thread;
/// #     type Hardening = Checked;
/// #     type Gate = Inlined;
/// #     type Tier = Batched;
/// # }
/// # thread_heap!(Thread, static MALLOC: Malloc<Program> = Linux);
/// use allocator_api2::{boxed::Box, vec::Vec};
///
/// let query = Zone::new(&MALLOC).expect("there is memory");
/// let mut rows = Vec::new_in(&query);
/// rows.extend((0..100).map(|row| Box::new_in([row; 9], &query)));
/// assert_eq!(rows[42][0], 42);
/// // The rows are not freed one by one: they are freed with the zone.
/// core::mem::forget(rows);
/// drop(query);
/// assert_eq!(MALLOC.statistics().used_blocks, 0);
/// ```
// SAFETY: as for Global; a zone keeps its blocks until it is dropped, even if it is moved.
unsafe impl<C: Config> Allocator for Zone<C> {
    fn allocate(&self, layout: Layout) -> Answer {
        answer(layout, |layout| self.allocate_layout(layout))
    }

    fn allocate_zeroed(&self, layout: Layout) -> Answer {
        answer(layout, |layout| self.allocate_layout_zeroed(layout))
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() > 0 {
            // SAFETY: the caller's promise.
            unsafe { self.free(block) };
        }
    }

    unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Answer {
        let resize = || {
            // SAFETY: the caller's promise; the block is at a multiple of the new alignment.
            unsafe { self.resize(block, new.size(), new.align()) }
        };
        // SAFETY: the caller's promise.
        unsafe { fitted(self, block, (old, new), resize) }
    }

    unsafe fn shrink(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Answer {
        // SAFETY: as for Global.
        unsafe { self.grow(block, old, new) }
    }
}
