//! The current heap of a thread of a Rust program.

use crate::sync::atomic::{AtomicBool, Ordering};

/// Defines a type that keeps an allocator's heaps in thread-local storage, and the static that is
/// the allocator: as nobody else can have the type, nothing has to be vouched for. A thread's heap
/// ends with the thread. On Linux the process may fork: the child has a whole allocator, from the
/// first allocation of any thread on.
///
/// Without a static it is the type alone, for whoever keeps an allocator elsewhere: he vouches for
/// it by [`Malloc::new`](crate::malloc::Malloc::new), ends threads by
/// [`Malloc::end_thread`](crate::malloc::Malloc::end_thread), and is in the middle of things when
/// the process forks, if he does not have
/// [`Malloc::before_fork`](crate::malloc::Malloc::before_fork) called.
///
/// # Example
/// See [`Global`](crate::malloc::Global). The type and the static are each other's: this is two
/// allocators whose heaps would be in one place.
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
            // A thread that ends already keeps its heap: there is nobody to tell.
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
            // Names that no program has: its own are seen from in here.
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
                    // SAFETY: a thread that forks calls it, and one of the others afterwards.
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

            // SAFETY: a variable of the thread's, which begins as Heap::vacant() and holds what
            // was put there; it has no destructor, so it is there until the thread is gone.
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
                // SAFETY: nobody could name the type before, and from here on whoever makes
                // another allocator with it vouches for that.
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

/// Whether the process calls an allocator where it forks, for [`thread_heap`].
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Forks(AtomicBool);

impl Forks {
    /// Of an allocator that nobody has asked yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Has the process call these where it forks, at the first call. If there is no memory to note
    /// it, or the system is not Linux, nothing is called.
    ///
    /// # Safety
    /// They do what [`Malloc::before_fork`](super::Malloc::before_fork) and those after it do, of
    /// one allocator for which nobody else has it done.
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
        // SAFETY: three functions that stay, and that call nothing but the allocator.
        unsafe {
            libc::pthread_atfork(Some(before), Some(after), Some(after_in_child))
        };
        #[cfg(not(target_os = "linux"))]
        let _ = (before, after, after_in_child);
    }
}

// A thread of a test has one allocator in its life.
#[cfg(all(test, target_os = "linux"))]
thread_heap!(pub(super) OfThread);
