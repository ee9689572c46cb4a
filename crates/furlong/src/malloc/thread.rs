//! The current heap of a thread of a Rust program.

use crate::sync::atomic::{AtomicBool, Ordering};

/// Defines a type that keeps an allocator's heaps in thread-local storage, and a static with the
/// allocator. No other code can use the type for an allocator, so no `unsafe` is needed. A thread's
/// heap ends with the thread. On Linux the process may fork: the child's allocator is consistent,
/// from the first allocation of any thread on.
///
/// Without a static it defines the type alone, for an allocator that is kept elsewhere. Then the
/// caller is responsible for three things. [`Malloc::new`](crate::malloc::Malloc::new) requires an
/// unsafe promise. A thread must call [`Malloc::end_thread`](crate::malloc::Malloc::end_thread) at
/// its end. Before a fork, [`Malloc::before_fork`](crate::malloc::Malloc::before_fork) must be
/// called, or the child gets the allocator in the middle of changes.
///
/// # Example
/// See [`Global`](crate::malloc::Global). The type and the static belong together. Two allocators
/// with their heaps in one place do not compile:
/// ```compile_fail,E0271
/// use furlong::malloc::{Batched, Checked, Config, Inlined, Linux, thread_heap};
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
/// thread_heap!(Another, static SECOND: Malloc<Program> = Linux);
/// ```
#[macro_export]
macro_rules! thread_heap {
    (@bound $malloc:ident) => {
        fn bound() {
            // A thread that already exits keeps its heap: its destructor cannot be registered any
            // more.
            let _ = FURLONG_AT_END.try_with(|_| ());
            // SAFETY: the three functions of one allocator, in its one static.
            unsafe { FURLONG_FORKS.watch(before_fork, after_fork, after_fork_in_child) };
        }
    };
    (@kept $vis:vis $name:ident $($malloc:ident)?) => {
        /// Keeps the current heap in thread-local storage.
        #[derive(Debug)]
        $vis struct $name;

        const _: () = {
            // Names that no program uses, because the program's own names are visible in here.
            std::thread_local! {
                static FURLONG_HEAP: std::cell::Cell<&'static $crate::malloc::Heap> =
                    const { std::cell::Cell::new($crate::malloc::Heap::vacant()) };
            }

            $(
                struct FurlongAtEnd;

                impl Drop for FurlongAtEnd {
                    fn drop(&mut self) {
                        $malloc.end_thread();
                    }
                }

                std::thread_local! {
                    static FURLONG_AT_END: FurlongAtEnd = const { FurlongAtEnd };
                }

                static FURLONG_FORKS: $crate::malloc::Forks = $crate::malloc::Forks::new();

                extern "C" fn before_fork() {
                    // SAFETY: a forking thread calls it, and one of the others afterwards.
                    unsafe { $malloc.before_fork() };
                }

                extern "C" fn after_fork() {
                    // SAFETY: as above.
                    unsafe { $malloc.after_fork() };
                }

                extern "C" fn after_fork_in_child() {
                    // SAFETY: as above; a new process has one thread.
                    unsafe { $malloc.after_fork_in_child() };
                }
            )?

            // SAFETY: a thread-local variable, which begins as Heap::vacant() and holds the last
            // heap that was set; it has no destructor, so it lives until the thread is gone.
            unsafe impl $crate::malloc::CurrentHeap for $name {
                type Pin = ();

                #[inline(always)]
                fn pin() {}

                #[inline(always)]
                fn get() -> &'static $crate::malloc::Heap {
                    FURLONG_HEAP.get()
                }

                unsafe fn set(heap: &'static $crate::malloc::Heap) {
                    FURLONG_HEAP.set(heap);
                }

                $( $crate::thread_heap! { @bound $malloc } )?
            }
        };
    };
    ($vis:vis $name:ident, $of:vis static $malloc:ident: Malloc<$config:ty> = $source:expr) => {
        $crate::thread_heap! { @kept $vis $name $malloc }

        #[doc = concat!("The allocator whose heaps [`", stringify!($name), "`] keeps.")]
        $of static $malloc: $crate::malloc::Malloc<$config> = {
            const fn the_only<C>(source: C::Source) -> $crate::malloc::Malloc<C>
            where
                C: $crate::malloc::Config<Current = $name>,
            {
                // SAFETY: no code could name the type before this, and code that makes another
                // allocator with it needs `unsafe` of its own.
                unsafe { $crate::malloc::Malloc::new(source) }
            }
            the_only::<$config>($source)
        };
    };
    ($vis:vis $name:ident) => {
        $crate::thread_heap! { @kept $vis $name }
    };
}
pub use thread_heap;

/// Set once an allocator's fork handlers are registered, for [`thread_heap`].
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Forks(AtomicBool);

impl Forks {
    /// For an allocator that has not been called yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Registers these functions as fork handlers, at the first call. Does nothing if the system
    /// has no memory for them, or is not Linux.
    ///
    /// # Safety
    /// They do the work of [`Malloc::before_fork`](super::Malloc::before_fork) and its two
    /// counterparts, for one allocator that has no other fork handlers.
    pub unsafe fn watch(
        &self,
        before: extern "C" fn(),
        after: extern "C" fn(),
        after_in_child: extern "C" fn(),
    ) {
        if self.0.swap(true, Ordering::SeqCst) {
            return;
        }
        #[cfg(target_os = "linux")]
        // SAFETY: three functions of the program, which call nothing but the allocator.
        unsafe {
            libc::pthread_atfork(Some(before), Some(after), Some(after_in_child))
        };
        #[cfg(not(target_os = "linux"))]
        let _ = (before, after, after_in_child);
    }
}

// A test's thread has one allocator in its life.
#[cfg(all(test, target_os = "linux"))]
thread_heap!(pub(super) OfThread);
