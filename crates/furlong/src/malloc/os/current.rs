//! The heap that serves the caller: a thread's, or a processor's. [`thread_heap`] keeps it for the
//! threads of a Rust program.

use crate::malloc::Heap;
#[cfg(feature = "std")]
use crate::sync::atomic::{AtomicBool, Ordering};

/// The place of the current heap.
///
/// A process keeps it in thread-local storage. A kernel keeps one a processor, and pins the caller
/// to the processor by disabling interrupts. The library itself has no storage for it. One type
/// serves one allocator: see [`Malloc::new`](crate::malloc::Malloc::new).
///
/// # Example
/// A kernel with memory from boot and one heap a processor; a pin disables interrupts.
/// ```
/// use core::cell::UnsafeCell;
/// use core::hint::spin_loop;
/// use core::ptr::{self, NonNull};
/// use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
/// use furlong::malloc::{
///     Batched, Checked, Config, CurrentHeap, Heap, Inlined, Malloc, Misuse, PageSource,
/// };
///
/// # #[repr(align(4096))]
/// struct Memory(UnsafeCell<[u8; LEN]>);
/// # fn entropy() -> u64 { std::process::id().into() }
/// # unsafe impl Sync for Memory {}
/// const LEN: usize = 32 << 20;
/// static MEMORY: Memory = Memory(UnsafeCell::new([0; LEN]));
///
/// /// Zeroed pages, handed out once. The page allocator of a kernel also takes pages back.
/// struct Boot(AtomicUsize);
///
/// unsafe impl PageSource for Boot {
///     fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
///         let memory: *mut u8 = MEMORY.0.get().cast();
///         let first = memory.addr();
///         let start = |taken: usize| (first + taken).next_multiple_of(align) - first;
///         let take = |taken| Some(start(taken) + len).filter(|end| *end <= LEN);
///         let taken = self.0.fetch_update(SeqCst, SeqCst, take).ok()?;
///         NonNull::new(memory.wrapping_add(start(taken)))
///     }
///     unsafe fn unmap(&self, _: NonNull<u8>, _: usize) {}
///     unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
///         false
///     }
///     fn random(&self) -> u64 {
///         entropy()
///     }
///     /// Nothing here unwinds, and to stop least of all.
///     fn stop(&self, misuse: Misuse, address: usize) -> ! {
///         println!("{misuse}: {address:#x}");
///         loop {
///             spin_loop();
///         }
///     }
/// }
///
/// # fn processor() -> usize { 0 }
/// # struct InterruptsOff;
/// # impl InterruptsOff { fn now() -> Self { Self } }
/// struct PerCpu;
/// static HEAPS: [AtomicPtr<Heap>; 64] = [const { AtomicPtr::new(ptr::null_mut()) }; 64];
///
/// unsafe impl CurrentHeap for PerCpu {
///     /// Interrupts are as they were when this is dropped; pins nest.
///     type Pin = InterruptsOff;
///
///     fn pin() -> InterruptsOff {
///         InterruptsOff::now()
///     }
///     fn get() -> &'static Heap {
///         unsafe { HEAPS[processor()].load(SeqCst).as_ref() }.unwrap_or(Heap::vacant())
///     }
///     unsafe fn set(heap: &'static Heap) {
///         HEAPS[processor()].store(ptr::from_ref(heap).cast_mut(), SeqCst);
///     }
/// }
///
/// struct Kernel;
///
/// impl Config for Kernel {
///     type Source = Boot;
///     type Current = PerCpu;
///     type Hardening = Checked;
///     type Gate = Inlined;
///     type Tier = Batched;
/// }
///
/// // SAFETY: there is no other allocator whose heaps are in PerCpu.
/// static MALLOC: Malloc<Kernel> = unsafe { Malloc::new(Boot(AtomicUsize::new(0))) };
///
/// let block = MALLOC.allocate(100);
/// assert!(!block.is_null());
/// // SAFETY: it came from there, and nobody uses it any more.
/// unsafe { MALLOC.free(block) };
/// assert_eq!(MALLOC.statistics().used_blocks, 0);
/// ```
///
/// # Safety
/// While a pin is held, `get` returns the heap of the last `set` by the same thread or processor,
/// or [`Heap::vacant`] before the first one. Meanwhile nobody else is pinned to the same thread or
/// processor. No method here unwinds, and no method but `bound` calls the allocator.
pub unsafe trait CurrentHeap: 'static {
    /// A guard that keeps the caller on its processor; `()` for a thread. Pins nest.
    type Pin;

    /// Pins the caller.
    fn pin() -> Self::Pin;

    /// The current heap.
    fn get() -> &'static Heap;

    /// Makes a heap the current one. Only an allocator calls it: a heap that is current for two
    /// threads would give both the same blocks. So a thread cannot pass its heap on:
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{CurrentHeap, thread_heap};
    /// thread_heap!(Thread);
    /// let heap = Thread::get();
    /// std::thread::spawn(move || Thread::set(heap));
    /// ```
    ///
    /// # Safety
    /// The caller is pinned. The heap is the allocator's own, and nobody else uses it until another
    /// heap is set; or it is [`Heap::vacant`] or [`Heap::over`].
    unsafe fn set(heap: &'static Heap);

    /// Called after a thread's or processor's heap was set for the first time, outside all locks. A
    /// process registers the cleanup at thread exit here.
    fn bound() {}
}

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
/// Nor does a second one within the first:
/// ```compile_fail,E0425
/// # use furlong::malloc::{Batched, Checked, Config, Inlined, Linux, thread_heap};
/// # struct Program;
/// # impl Config for Program {
/// #     type Source = Linux;
/// #     type Current = Thread;
/// #     type Hardening = Checked;
/// #     type Gate = Inlined;
/// #     type Tier = Batched;
/// # }
/// thread_heap!(Thread, static MALLOC: Malloc<Program> = {
///     static SECOND: furlong::malloc::Malloc<Program> = the_only(Linux);
///     Linux
/// });
/// ```
#[cfg(feature = "std")]
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
            // The caller's expressions are outside the block with the function, which they could
            // call there.
            type FurlongConfig = $config;
            let source = $source;
            {
                const fn the_only<C>(source: C::Source) -> $crate::malloc::Malloc<C>
                where
                    C: $crate::malloc::Config<Current = $name>,
                {
                    // SAFETY: no code could name the type before this, and code that makes another
                    // allocator with it needs `unsafe` of its own.
                    unsafe { $crate::malloc::Malloc::new(source) }
                }
                the_only::<FurlongConfig>(source)
            }
        };
    };
    ($vis:vis $name:ident) => {
        $crate::thread_heap! { @kept $vis $name }
    };
}
#[cfg(feature = "std")]
pub use thread_heap;

/// Set once an allocator's fork handlers are registered, for [`thread_heap`].
#[cfg(feature = "std")]
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Forks(AtomicBool);

#[cfg(feature = "std")]
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
    /// They do the work of [`Malloc::before_fork`](crate::malloc::Malloc::before_fork) and its two
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
#[cfg(all(test, feature = "std", target_os = "linux"))]
thread_heap!(pub(crate) OfThread);
