//! Which heap serves the caller: a thread's, or a processor's.

use super::heap::Heap;

/// Where the current heap is kept.
///
/// A process keeps it in thread-local storage; a kernel keeps one a processor, and pins the caller
/// to it with interrupts off. The library has no storage of its own for it. One type serves one
/// allocator: see [`Malloc::new`](super::Malloc::new).
///
/// # Example
/// A kernel: memory that it was booted with, a heap a processor, and interrupts off meanwhile.
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
/// /// What has not been given out is zeros. A kernel's page allocator takes it back, too.
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
/// While a pin is held, `get` returns what the last `set` of the same thread or processor was
/// given, or [`Heap::vacant`] before the first one, and nobody else is pinned to the same one.
/// Nothing here unwinds, and but for `bound` nothing calls the allocator.
pub unsafe trait CurrentHeap: 'static {
    /// What keeps the caller where it is; `()` for a thread. Pins nest.
    type Pin;

    /// Pins the caller.
    fn pin() -> Self::Pin;

    /// The heap.
    fn get() -> &'static Heap;

    /// Puts a heap there. Only an allocator calls it: a heap that is the current one of two threads
    /// would give both the same blocks, so that a thread cannot hand its own on.
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{CurrentHeap, thread_heap};
    /// thread_heap!(Thread);
    /// let heap = Thread::get();
    /// std::thread::spawn(move || Thread::set(heap));
    /// ```
    ///
    /// # Safety
    /// The caller is pinned. The heap is the allocator's own, and until another one is put there
    /// nobody else uses it; or it is [`Heap::vacant`] or [`Heap::over`].
    unsafe fn set(heap: &'static Heap);

    /// Called after a heap has been put there for the first time, outside all locks: a process
    /// registers what is to be done at the thread's end.
    fn bound() {}
}
