//! Which heap serves the caller: a thread's, or a processor's.

use super::heap::Heap;

/// Where the current heap is kept.
///
/// A process keeps it in thread-local storage; a kernel keeps one a processor, and pins the caller
/// to it with interrupts off. The library has no storage of its own for it. One type serves one
/// allocator.
///
/// # Safety
/// While a pin is held, `get` returns what the last `set` of the same thread or processor was
/// given, or [`Heap::vacant`] before the first one, and nobody else is pinned to the same one.
pub unsafe trait CurrentHeap: 'static {
    /// What keeps the caller where it is; `()` for a thread.
    type Pin;

    /// Pins the caller.
    fn pin() -> Self::Pin;

    /// The heap.
    fn get() -> &'static Heap;

    /// Puts a heap there.
    fn set(heap: &'static Heap);

    /// Called after a heap has been put there for the first time, outside all locks: a process
    /// registers what is to be done at the thread's end.
    fn bound() {}
}
