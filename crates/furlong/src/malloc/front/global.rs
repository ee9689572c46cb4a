//! The allocator as Rust's global allocator.

use core::alloc::{GlobalAlloc, Layout};

use crate::forms::copies;
use crate::malloc::{Config, Hardening, Malloc};

/// An allocator in a static, as the global allocator of a Rust program.
///
/// # Example
#[cfg_attr(feature = "std", doc = "```")]
#[cfg_attr(not(feature = "std"), doc = "```text")]
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
/// #[global_allocator]
/// static GLOBAL: Global<Program> = Global::new(&MALLOC);
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u64>(), 499_500);
/// assert!(MALLOC.statistics().used_bytes >= 8000);
/// ```
#[derive(Debug)]
pub struct Global<C: Config>(&'static Malloc<C>);

impl<C: Config> Global<C> {
    /// The global allocator for an allocator.
    #[must_use]
    pub const fn new(malloc: &'static Malloc<C>) -> Self {
        Self(malloc)
    }

    /// The allocator.
    #[must_use]
    pub const fn malloc(&self) -> &'static Malloc<C> {
        self.0
    }
}

copies! { Global<C> where [C: Config]; }

// SAFETY: blocks have at least the requested size and alignment, belong to their holder alone until
// they are freed, and nothing here unwinds.
unsafe impl<C: Config> GlobalAlloc for Global<C> {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.allocate_layout(layout)
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if C::Hardening::CHECK {
            // SAFETY: the caller's promise.
            unsafe { self.0.free_sized(block, layout.size()) };
        } else {
            // SAFETY: as above.
            unsafe { self.0.free(block) };
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.0.allocate_layout_zeroed(layout)
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.resize(block, size, layout.align()) }
    }
}
