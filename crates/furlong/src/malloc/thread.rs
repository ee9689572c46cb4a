//! The current heap of a thread of a Rust program.

/// Defines a type that keeps an allocator's heaps in thread-local storage. The second name, if
/// there is one, is the allocator's static: then a thread's heap ends with the thread. Without it
/// who uses the type calls [`Malloc::end_thread`](crate::malloc::Malloc::end_thread).
///
/// # Example
/// See [`Global`](crate::malloc::Global).
#[macro_export]
macro_rules! thread_heap {
    (@bound $malloc:path) => {
        fn bound() {
            // A thread that ends already keeps its heap: there is nobody to tell.
            let _ = AT_END.try_with(|_| ());
        }
    };
    ($vis:vis $name:ident $(, $malloc:path)?) => {
        /// Keeps the current heap in thread-local storage.
        #[derive(Debug)]
        $vis struct $name;

        const _: () = {
            use std::cell::Cell;
            use $crate::malloc::{CurrentHeap, Heap};

            std::thread_local! {
                static HEAP: Cell<&'static Heap> = const { Cell::new(Heap::vacant()) };
            }

            $(
                struct AtEnd;

                impl Drop for AtEnd {
                    fn drop(&mut self) {
                        $malloc.end_thread();
                    }
                }

                std::thread_local! {
                    static AT_END: AtEnd = const { AtEnd };
                }
            )?

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

                $( $crate::thread_heap! { @bound $malloc } )?
            }
        };
    };
}
pub use thread_heap;

// A thread of a test has one allocator in its life.
#[cfg(all(test, target_os = "linux"))]
thread_heap!(pub(super) OfThread);
