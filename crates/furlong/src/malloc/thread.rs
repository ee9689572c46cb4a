//! The current heap of a thread of a Rust program.

/// Defines a type that keeps an allocator's heaps in thread-local storage, and ends a thread's
/// heap with the thread. The second name is the allocator's static.
///
/// # Example
/// See [`Global`](crate::malloc::Global).
#[macro_export]
macro_rules! thread_heap {
    ($name:ident, $malloc:path) => {
        #[doc = "Keeps the current heap in thread-local storage."]
        #[derive(Debug)]
        pub struct $name;

        const _: () = {
            use std::cell::Cell;
            use $crate::malloc::{CurrentHeap, Heap};

            struct AtEnd;

            impl Drop for AtEnd {
                fn drop(&mut self) {
                    $malloc.end_thread();
                }
            }

            std::thread_local! {
                static HEAP: Cell<&'static Heap> = const { Cell::new(Heap::vacant()) };
                static AT_END: AtEnd = const { AtEnd };
            }

            // SAFETY: a variable of the thread's, which begins as Heap::vacant() and holds what
            // was put there; it has no destructor, so it is there until the thread is gone.
            unsafe impl CurrentHeap for $name {
                type Pin = ();

                #[inline(always)]
                fn pin() {}

                #[inline(always)]
                fn get() -> &'static Heap {
                    HEAP.get()
                }

                fn set(heap: &'static Heap) {
                    HEAP.set(heap);
                }

                fn bound() {
                    // A thread that ends already keeps its heap: there is nobody to tell.
                    let _ = AT_END.try_with(|_| ());
                }
            }
        };
    };
}
pub use thread_heap;
