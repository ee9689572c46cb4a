//! The heap that serves the caller: a thread's, or a processor's.

use super::heap::Heap;

/// The place of the current heap.
///
/// A process keeps it in thread-local storage. A kernel keeps one a processor, and pins the caller
/// to the processor by disabling interrupts. The library itself has no storage for it. One type
/// serves one allocator: see [`Malloc::new`](super::Malloc::new).
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
