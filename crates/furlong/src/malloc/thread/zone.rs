//! Zones: heaps that belong to a purpose and not to a thread, whose blocks are all freed at once.
//!
//! A zone has a heap like a thread's. During a call that heap is the caller's current one, so the
//! same gates and slow paths serve it. Two of them treat zones differently. `take_ended_spans`
//! would give a zone the blocks of other heaps. And a zone also lists the spans that have no blocks
//! left to give, to find them when it is dropped.

use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::forms::debug_as;
use crate::malloc::{
    Config, CurrentHeap, Exchange, Half, Heap, LargeObjects, Malloc, Misuse, Pool, Span,
    ThreadHeap, Use, stop,
};

/// A private heap: allocate from it, and free everything by dropping it.
///
/// A request, a query or a phase of a program can allocate its blocks in a zone. It need not free
/// them one by one, and shares no span with other code. Blocks of a zone are freed and resized by
/// the zone, not by the allocator below it. A zone may be sent to another thread. Several threads
/// use one zone each, or one under a lock.
///
/// With the feature `allocator-api2` a `&Zone` is an `Allocator`: a collection that borrows the
/// zone cannot outlive it.
///
/// A zone keeps a reference to its allocator, or another [`Place`].
///
/// # Cost
/// An allocation costs as much as a thread's, plus two changes of the current heap. Dropping a zone
/// is O(its spans and large objects), whatever the number of its blocks and of other memory; once
/// in half a delay it also looks at all heaps for memory that goes back to the system.
///
/// # Example
#[cfg_attr(feature = "std", doc = "```")]
#[cfg_attr(not(feature = "std"), doc = "```text")]
/// use furlong::malloc::{
///     Batched, Checked, Config, Inlined, Linux, Zone, thread_heap,
/// };
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
///
/// let request = Zone::new(&MALLOC).expect("there is memory");
/// for size in 0..1000 {
///     let block = request.allocate(size, 16).expect("there is memory");
///     assert_eq!(block.addr().get() % 16, 0);
/// }
/// assert_eq!(MALLOC.statistics().used_blocks, 1000);
/// drop(request);
/// assert_eq!(MALLOC.statistics().used_blocks, 0);
/// ```
pub struct Zone<C: Config, M: Place<C> = &'static Malloc<C>> {
    malloc: M,
    of: PhantomData<&'static Malloc<C>>,
    heap: &'static Heap,
    /// The unit of the first of its objects above the classes; 0 is none. They are linked through
    /// the fields that link spans in their heap's list.
    objects: Cell<u32>,
}

debug_as! { Zone<C> where [C: Config]: |it| Zone { malloc: it.malloc, .. } }

impl<C: Config> Zone<C> {
    /// A zone of an allocator; `None` if out of memory.
    #[must_use]
    pub fn new(malloc: &'static Malloc<C>) -> Option<Self> {
        Self::of(malloc)
    }
}

/// A value that stands for an allocator: a reference, or a type whose allocator has one place.
///
/// # Safety
/// `malloc` always returns the same reference.
pub unsafe trait Place<C: Config>: Copy {
    /// The allocator.
    fn malloc(self) -> &'static Malloc<C>;
}

// SAFETY: it is that reference.
unsafe impl<C: Config> Place<C> for &'static Malloc<C> {
    #[inline(always)]
    fn malloc(self) -> Self {
        self
    }
}

/// Makes a zone's heap the caller's current one, until it is dropped.
struct Entered<C: Config> {
    before: &'static Heap,
    _pin: <C::Current as CurrentHeap>::Pin,
}

impl<C: Config> Drop for Entered<C> {
    fn drop(&mut self) {
        // SAFETY: it was the current heap when this pin began, and the pin still holds.
        unsafe { C::Current::set(self.before) };
    }
}

impl<C: Config, M: Place<C>> Zone<C, M> {
    /// A zone of the allocator that `malloc` stands for; `None` if out of memory.
    #[must_use]
    pub fn of(malloc: M) -> Option<Self> {
        let _pin = C::Current::pin();
        let central = &malloc.malloc().central;
        let spare = central.with_pool(Pool::take_spare);
        let heap = spare.or_else(|| Some(ThreadHeap::create(central)?.heap))?;
        heap.zone.set(1);
        Some(Self {
            malloc,
            of: PhantomData,
            heap,
            objects: Cell::new(0),
        })
    }

    /// The allocator of this zone.
    #[must_use]
    pub fn malloc(&self) -> &'static Malloc<C> {
        self.malloc.malloc()
    }

    /// Allocates a block of at least `size` bytes, at a multiple of `align`. `None` if out of
    /// memory, if `size` is above `isize::MAX`, or if `align` is not a power of two.
    #[must_use = "the block is in use until the zone goes"]
    pub fn allocate(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        match Layout::from_size_align(size, align) {
            Ok(layout) => self.allocate_layout(layout),
            Err(_) => self.refuse(),
        }
    }

    /// As [`allocate`](Self::allocate), filled with zeros.
    #[must_use = "the block is in use until the zone goes"]
    pub fn allocate_zeroed(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        match Layout::from_size_align(size, align) {
            Ok(layout) => self.allocate_layout_zeroed(layout),
            Err(_) => self.refuse(),
        }
    }

    pub(crate) fn allocate_layout(&self, layout: Layout) -> Option<NonNull<u8>> {
        self.in_zone(|malloc| self.noted(malloc.allocate_layout(layout)))
            .or_else(|| self.refuse())
    }

    pub(crate) fn allocate_layout_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        self.in_zone(|malloc| self.noted(malloc.allocate_layout_zeroed(layout)))
            .or_else(|| self.refuse())
    }

    /// Runs a closure while the zone's heap is the caller's current one.
    #[inline(always)]
    fn in_zone<T>(&self, run: impl FnOnce(&'static Malloc<C>) -> T) -> T {
        let _entered = self.enter();
        run(self.malloc())
    }

    /// Reports that memory is short: while the zone was entered, nothing was reported, since a
    /// program that is told may allocate.
    #[cold]
    fn refuse(&self) -> Option<NonNull<u8>> {
        NonNull::new(self.malloc().refuse())
    }

    /// Frees a block. A block of another heap stops the program, unless it is an object above the
    /// size classes of another zone.
    ///
    /// # Safety
    /// `block` came from this zone, and nobody uses it from now on.
    pub unsafe fn free(&self, block: NonNull<u8>) {
        let _entered = self.enter();
        self.forget(block);
        // SAFETY: the caller's promise.
        unsafe { self.malloc().free(block.as_ptr()) };
    }

    /// Makes a block longer or shorter, in place or elsewhere, at a multiple of `align`. `None` if
    /// out of memory; the block is then unchanged. A shrinking resize returns the old block
    /// instead, as [`Malloc::resize`](crate::malloc::Malloc::resize).
    ///
    /// # Safety
    /// As for [`free`](Self::free); a resulting block replaces the old one. `align` is a power of
    /// two, and the block is at a multiple of it.
    #[must_use = "the block may be elsewhere now"]
    pub unsafe fn resize(
        &self,
        block: NonNull<u8>,
        size: usize,
        align: usize,
    ) -> Option<NonNull<u8>> {
        let resized = self.in_zone(|malloc| {
            self.forget(block);
            // SAFETY: the caller's promise.
            let new = unsafe { malloc.resize(block.as_ptr(), size, align) };
            let resized = self.noted(new);
            if resized.is_none() {
                self.note(block);
            }
            resized
        });
        resized.or_else(|| self.refuse())
    }

    fn enter(&self) -> Entered<C> {
        let pin = C::Current::pin();
        let before = C::Current::get();
        self.heap.cache.caller.set(before.cache.caller.get());
        // SAFETY: pinned; only the zone uses the heap, and two threads never use a zone at once.
        unsafe { C::Current::set(self.heap) };
        Entered { before, _pin: pin }
    }

    /// The record of the span or object of a block.
    fn record(&self, block: NonNull<u8>) -> &'static Span {
        self.malloc()
            .central
            .map
            .first_unit(block.as_ptr().expose_provenance())
    }

    fn noted(&self, block: *mut u8) -> Option<NonNull<u8>> {
        let block = NonNull::new(block)?;
        self.note(block);
        Some(block)
    }

    /// Adds an object above the classes to the zone's list, since its record has no owner.
    fn note(&self, block: NonNull<u8>) {
        let span = self.record(block);
        if span.is(Use::Blocks) {
            return;
        }
        let next = self.objects.replace(span.unit.get());
        span.prev.set(0);
        span.next.set(next);
        if next != 0 {
            self.malloc()
                .central
                .map
                .span(next)
                .prev
                .set(span.unit.get());
        }
    }

    /// Removes an object above the classes from the list. Stops the program if a block is not of
    /// this zone.
    fn forget(&self, block: NonNull<u8>) {
        let span = self.record(block);
        let ours = if span.is(Use::Blocks) {
            span.owner.is(self.heap)
        } else if span.is(Use::Empty) {
            false
        } else {
            let objects = LargeObjects(&self.malloc().central);
            let (span, _) = objects.object_at(block.as_ptr().addr());
            self.unlink(span)
        };
        if !ours {
            let address = block.as_ptr().addr();
            stop(&self.malloc().central.source, Misuse::Foreign, address);
        }
    }

    /// Removes an object from the list. `false` if it was not in the list.
    fn unlink(&self, span: &Span) -> bool {
        let (prev, next) = (span.prev.get(), span.next.get());
        let link = (prev != 0).then(|| &self.malloc().central.map.span(prev).next);
        if link.map_or(self.objects.get(), Half::get) != span.unit.get() {
            return false;
        }
        match link {
            Some(link) => link.set(next),
            None => self.objects.set(next),
        }
        if next != 0 {
            self.malloc().central.map.span(next).prev.set(prev);
        }
        true
    }
}

impl<C: Config, M: Place<C>> Drop for Zone<C, M> {
    /// Retires all spans, even with blocks in use, and keeps the heap for the next zone.
    fn drop(&mut self) {
        let _entered = self.enter();
        let (central, heap) = (&self.malloc().central, self.heap);
        while self.objects.get() != 0 {
            let span = central.map.span(self.objects.get());
            self.unlink(span);
            LargeObjects(central).free(span.base());
        }
        let own = ThreadHeap::new(central, heap);
        own.post_outgoing();
        let held = central.hold_heap(heap);
        central.collect(heap);
        heap.cache.bins.forget();
        heap.cache.forget_waiting();
        own.retire_all();
        drop(held);
        own.maintain_now();
        central.with_pool(|pool| pool.add_spare(heap));
    }
}
