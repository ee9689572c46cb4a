//! furlong's memory allocator for a Rust program, in one line.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: furlong_malloc::Furlong = furlong_malloc::Furlong;
//!
//! let numbers: Vec<u64> = (0..1000).collect();
//! assert!(furlong_malloc::Furlong::malloc().statistics().used_bytes >= 8000);
//! # drop(numbers);
//! ```
//!
//! Three types are three grades of one allocator. A program contains those that it names:
//!
//! | type | ends the process at |
//! |---|---|
//! | [`Furlong`] | invalid frees, too large a size, a second free of a block not written since |
//! | [`Secure`] | those, and writes past the end of a block or after its free |
//! | [`Plain`] | frees of pointers from elsewhere, and of large objects twice |
//!
//! [`Secure`] also clears freed blocks and places blocks at random.
//!
//! While the program goes on freeing, memory that has not been used for a second goes back to the
//! system; before it idles, it can call `Furlong::malloc().trim()`. Threads, their ends and
//! forks need no calls.

/// Defines a grade: a type that is a global allocator, and its allocator in a static.
macro_rules! grade {
    ($module:ident, $name:ident, $hardening:ident, $($doc:literal)+) => {
        mod $module {
            use core::alloc::{GlobalAlloc, Layout};

            use furlong::malloc::{Batched, Config, Global, Inlined, Linux, Malloc, thread_heap};

            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $name;

            impl Config for $name {
                type Source = Linux;
                type Current = Thread;
                type Hardening = furlong::malloc::$hardening;
                type Gate = Inlined;
                type Tier = Batched;
            }

            thread_heap!(pub Thread, static MALLOC: Malloc<$name> = Linux);

            impl $name {
                const GLOBAL: Global<Self> = Global::new(&MALLOC);

                /// Returns the allocator, with its statistics, settings and purge.
                pub fn malloc() -> &'static Malloc<Self> {
                    &MALLOC
                }
            }

            // SAFETY: each call is that of `Global`, which keeps the trait's promises.
            unsafe impl GlobalAlloc for $name {
                #[inline(always)]
                unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
                    // SAFETY: the caller's promise.
                    unsafe { Self::GLOBAL.alloc(layout) }
                }

                #[inline(always)]
                unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
                    // SAFETY: the caller's promise.
                    unsafe { Self::GLOBAL.dealloc(block, layout) };
                }

                #[inline]
                unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
                    // SAFETY: the caller's promise.
                    unsafe { Self::GLOBAL.alloc_zeroed(layout) }
                }

                #[inline]
                unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
                    // SAFETY: the caller's promise.
                    unsafe { Self::GLOBAL.realloc(block, layout, size) }
                }
            }
        }

        pub use $module::$name;
    };
}

grade!(
    checked,
    Furlong,
    Checked,
    "The allocator that ends the process at a double or invalid free, or one with too large a size."
);
grade!(secure, Secure, Secure, "The allocator with all checks.");
grade!(plain, Plain, NoHardening, "The allocator without checks.");
