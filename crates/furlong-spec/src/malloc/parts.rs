//! The arms as types, and the threads of a stream, which may all be one.
#![expect(unsafe_code, reason = "it says whose heap the caller has")]

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use furlong::malloc::{
    Config, CurrentHeap, Gate, Hardening, Heap, Linux, Malloc, PageSource, Tier,
};

use super::operation::THREADS;
use super::pages::Pages;

/// An allocator of these arms over [`Pages`], for threads that are real, or numbers of one thread.
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
    /// Whether an allocator has the heaps below.
    static OWNED: Cell<bool> = const { Cell::new(false) };
    static NOW: Cell<usize> = const { Cell::new(0) };
    static HEAPS: [Cell<&'static Heap>; THREADS] =
        const { [const { Cell::new(Heap::vacant()) }; THREADS] };
}

/// The heaps of the threads that one thread stands for.
#[derive(Debug)]
pub struct Numbered;

// SAFETY: variables of the thread's, for one allocator at a time; which of them is meant changes
// between calls only.
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

/// The caller is this one from now on.
pub(super) fn become_thread(number: usize) {
    NOW.set(number);
}

/// The caller's heap has not begun.
pub(super) fn begin() {
    // SAFETY: it stands for none.
    unsafe { Numbered::set(Heap::vacant()) };
}

/// An allocator of its own, which is gone with this.
#[derive(Debug)]
pub(super) struct Owned<C: Config<Source = Pages>>(NonNull<Malloc<C>>);

impl<C: Config<Source = Pages>> Owned<C> {
    const PAGE: usize = 4096;
    const LEN: usize = size_of::<Malloc<C>>().next_multiple_of(Self::PAGE);

    /// # Panics
    /// If the thread has one already, for whose blocks it has the heaps; or without memory.
    pub(super) fn new(limit: usize) -> Self {
        assert!(!OWNED.replace(true), "a thread has one allocator at a time");
        let place = Linux.map(Self::LEN, Self::PAGE);
        let place = place.expect("there are 3 MiB of addresses").cast();
        // SAFETY: fresh pages; the only allocator of the thread, whose heaps have been vacant since
        // the last was gone.
        unsafe { Malloc::new_at(place, Pages::new(limit)) };
        Self(place)
    }

    /// The allocator, for as long as `self` is there.
    pub(super) fn get(&self) -> &'static Malloc<C> {
        // SAFETY: it was made there, and goes with self; who holds self keeps what this returns no
        // longer.
        unsafe { self.0.as_ref() }
    }

    /// Does what a process does in which somebody forks.
    pub(super) fn fork(&self) {
        let malloc = self.get();
        // SAFETY: nothing is asked between the two.
        unsafe { malloc.before_fork() };
        // SAFETY: as above, once, in the same process.
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
        // SAFETY: it was made there once; no heap of it is anybody's any more.
        unsafe { self.0.drop_in_place() };
        // SAFETY: pages of this alone.
        unsafe { Linux.unmap(self.0.cast(), Self::LEN) };
    }
}
