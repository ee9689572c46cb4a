//! The arms as types. The threads of a stream are real, or are all simulated on one thread.
#![expect(unsafe_code, reason = "it says whose heap the caller has")]

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use furlong::malloc::{
    Config, CurrentHeap, Gate, Hardening, Heap, Linux, Malloc, PageSource, Tier,
};

use super::operation::THREADS;
use super::pages::Pages;

/// A configuration of these arms over [`Pages`]. `T` selects real threads or numbers on one thread.
#[derive(Debug)]
pub struct Parts<H, G, T>(PhantomData<(H, G, T)>);

impl<H: Hardening, G: Gate, T: Tier> Config for Parts<H, G, T> {
    type Source = Pages;
    type Current = Numbered;
    type Hardening = H;
    type Gate = G;
    type Tier = T;
}

thread_local! {
    /// True if an allocator uses the heaps below.
    static OWNED: Cell<bool> = const { Cell::new(false) };
    static NOW: Cell<usize> = const { Cell::new(0) };
    static HEAPS: [Cell<&'static Heap>; THREADS] =
        const { [const { Cell::new(Heap::vacant()) }; THREADS] };
}

/// The heaps of all threads that are simulated on one thread.
#[derive(Debug)]
pub struct Numbered;

// SAFETY: the heaps are thread-local variables, for one allocator at a time. The current one
// changes only between calls.
unsafe impl CurrentHeap for Numbered {
    type Pin = ();

    fn pin() {}

    fn get() -> &'static Heap {
        HEAPS.with(|heaps| heaps[NOW.get()].get())
    }

    unsafe fn set(heap: &'static Heap) {
        HEAPS.with(|heaps| heaps[NOW.get()].set(heap));
    }
}

/// Makes `number` the current simulated thread.
pub(super) fn become_thread(number: usize) {
    NOW.set(number);
}

/// Gives the current simulated thread a vacant heap.
pub(super) fn begin() {
    // SAFETY: a vacant heap represents no thread.
    unsafe { Numbered::set(Heap::vacant()) };
}

/// An allocator that is dropped together with this value.
#[derive(Debug)]
pub(super) struct Owned<C: Config<Source = Pages>>(NonNull<Malloc<C>>);

impl<C: Config<Source = Pages>> Owned<C> {
    const PAGE: usize = 4096;
    const LEN: usize = size_of::<Malloc<C>>().next_multiple_of(Self::PAGE);

    /// # Panics
    /// If this thread has an allocator already, which uses its heaps; or if memory is short.
    pub(super) fn new(pages: Pages) -> Self {
        assert!(!OWNED.replace(true), "a thread has one allocator at a time");
        let place = Linux.map(Self::LEN, Self::PAGE);
        let place = place.expect("there are 3 MiB of addresses").cast();
        // SAFETY: fresh pages; the only allocator of the thread, whose heaps have been vacant since
        // the last allocator was dropped.
        unsafe { Malloc::new_at(place, pages) };
        Self(place)
    }

    /// The allocator, valid for as long as `self` is.
    pub(super) fn get(&self) -> &'static Malloc<C> {
        // SAFETY: constructed there, and dropped with `self`; the holders of `self` keep no
        // reference longer than that.
        unsafe { self.0.as_ref() }
    }

    /// Makes the calls that a process makes around a fork.
    pub(super) fn fork(&self) {
        let malloc = self.get();
        // SAFETY: no call of the allocator comes between the two.
        unsafe { malloc.before_fork() };
        // SAFETY: as above, called once, in the same process.
        unsafe { malloc.after_fork() };
    }
}

impl<C: Config<Source = Pages>> Drop for Owned<C> {
    fn drop(&mut self) {
        for number in 0..THREADS {
            become_thread(number);
            begin();
        }
        become_thread(0);
        OWNED.set(false);
        // SAFETY: constructed there once; no thread uses its heaps any more.
        unsafe { self.0.drop_in_place() };
        // SAFETY: pages that belong to this value alone.
        unsafe { Linux.unmap(self.0.cast(), Self::LEN) };
    }
}
