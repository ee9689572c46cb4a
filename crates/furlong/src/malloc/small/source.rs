//! The memory of a small heap in a static, and the end of a program that misuses one.

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use super::super::misuse::{Misuse, without_unwinding};
use crate::forms::{debug_as, default_is_new};
use crate::sync::atomic::{AtomicBool, Ordering};

/// The source of a small heap's regions.
///
/// [`StaticRegion`] is one with a single region. A firmware with several banks, or a system whose
/// memory grows, implements its own.
///
/// # Example
/// WebAssembly's memory grows by pages of 64 KiB.
/// ```
/// # mod wasm { // as core::arch::wasm32
/// #     pub fn memory_grow<const MEM: u32>(pages: usize) -> usize {
/// #         let memory = Vec::leak(vec![0_u64; (pages + 1) << 13]);
/// #         memory.as_ptr().expose_provenance().div_ceil(1 << 16)
/// #     }
/// # }
/// use core::alloc::Layout;
/// use core::mem::MaybeUninit;
/// use core::{ptr, slice};
/// use furlong::malloc::{RegionSource, SmallGlobal, SmallHeap};
/// use furlong::sync::SpinLock;
/// # use wasm::memory_grow;
///
/// struct Pages;
///
/// impl RegionSource for Pages {
///     fn more(&'static self, layout: Layout) -> Option<&'static mut [MaybeUninit<u8>]> {
///         let pages = SmallHeap::bytes_for(layout)?.div_ceil(1 << 16);
///         let first = memory_grow::<0>(pages);
///         if first == usize::MAX {
///             return None;
///         }
///         let start = ptr::with_exposed_provenance_mut(first << 16);
///         // SAFETY: these pages are new, and nobody else's.
///         Some(unsafe { slice::from_raw_parts_mut(start, pages << 16) })
///     }
/// }
///
/// static GLOBAL: SmallGlobal<SpinLock, Pages> = SmallGlobal::new(SpinLock::new(), &Pages);
/// # use core::alloc::GlobalAlloc;
/// # let layout = Layout::new::<[u8; 100_000]>();
/// # assert!(!unsafe { GLOBAL.alloc(layout) }.is_null());
/// ```
pub trait RegionSource: Sync + 'static {
    /// Another region, because no memory so far has room for this layout; `None` if there is none.
    /// It is asked again until there is room. [`SmallHeap::bytes_for`](super::heap::SmallHeap) is
    /// the length that is enough.
    ///
    /// # Context
    /// Under the lock of the heap: it must not allocate there.
    #[expect(clippy::mut_from_ref, reason = "memory is given once")]
    fn more(&'static self, layout: Layout) -> Option<&'static mut [MaybeUninit<u8>]>;

    /// Ends the program, because a caller freed or resized memory that is no block of it.
    ///
    /// By default it panics, and where panics unwind it aborts. A source that replaces this must
    /// not unwind.
    ///
    /// # Context
    /// Without the lock.
    fn stop(&self, misuse: Misuse, address: usize) -> ! {
        panic_and_abort(misuse, address)
    }
}

/// Panics, and panics again while that unwinds, which aborts.
#[cold]
fn panic_and_abort(misuse: Misuse, address: usize) -> ! {
    without_unwinding(|| panic!("{}: {address:#x}", misuse.message()))
}

/// A region of `LEN` bytes, for a static: see [`SmallGlobal`](super::global::SmallGlobal).
#[repr(C, align(16))]
pub struct StaticRegion<const LEN: usize> {
    memory: UnsafeCell<MaybeUninit<[u8; LEN]>>,
    is_taken: AtomicBool,
}

// SAFETY: the memory is borrowed once, by whoever sets `is_taken`.
unsafe impl<const LEN: usize> Sync for StaticRegion<LEN> {}

default_is_new! { StaticRegion<LEN> where [const LEN: usize] }

debug_as! { StaticRegion<LEN> where [const LEN: usize]: StaticRegion { .. } }

impl<const LEN: usize> StaticRegion<LEN> {
    /// The memory, without values: a static takes no room in a program's file.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            memory: UnsafeCell::new(MaybeUninit::uninit()),
            is_taken: AtomicBool::new(false),
        }
    }

    /// The memory; `None` if it was taken before.
    #[expect(clippy::mut_from_ref, reason = "only the first caller gets it")]
    pub fn take(&'static self) -> Option<&'static mut [MaybeUninit<u8>]> {
        // Relaxed: it says who has the memory, which nobody has written before.
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        let memory = self.memory.get().cast::<[MaybeUninit<u8>; LEN]>();
        // SAFETY: it lives for ever, needs no values, and is borrowed only here, once.
        Some(unsafe { &mut *memory })
    }
}

impl<const LEN: usize> RegionSource for StaticRegion<LEN> {
    fn more(&'static self, _: Layout) -> Option<&'static mut [MaybeUninit<u8>]> {
        self.take()
    }
}
