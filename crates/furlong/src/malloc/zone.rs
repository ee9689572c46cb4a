//! Zones: heaps that are a purpose's and no thread's, whose blocks go all at once.
//!
//! A zone has a heap like a thread's. While it is asked that heap is the caller's current one, so
//! that the same gates and slow ways serve it; nothing in them knows of zones but adoption, which
//! would give one the blocks of others.

use core::{alloc::Layout, cell::Cell, fmt, ptr::NonNull};

use super::{
    allocator::Malloc,
    arena::Arena,
    class::UNIT,
    config::Config,
    current::CurrentHeap,
    exchange::Exchange,
    field::Half,
    hardening::Hardening,
    heap::Heap,
    source::Misuse,
    span::{Span, Use},
    system::stop,
};

/// A heap of one's own: allocate from it, and give everything back by dropping it.
///
/// A request, a query or a phase of a program that has its blocks in a zone need not free them one
/// by one, and shares no span with anything else. Blocks of a zone are freed and resized by the
/// zone, not by the allocator under it. A zone may be sent to another thread; several threads have
/// one each, or one under a lock.
///
/// With the feature `allocator-api2` a `&Zone` is an `Allocator`: a collection that borrows the
/// zone cannot outlive it.
///
/// # Cost
/// An allocation is one of a thread, and two changes of the current heap. Dropping a zone is
/// O(units in use) of the whole allocator, whatever the number of the zone's blocks.
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
pub struct Zone<C: Config> {
    malloc: &'static Malloc<C>,
    heap: &'static Heap,
    /// The unit of the first of its objects above the classes; 0 is none. Their records have the
    /// links that spans have in their heap's list.
    objects: Cell<u32>,
}

impl<C: Config> fmt::Debug for Zone<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zone")
            .field("malloc", &self.malloc)
            .finish_non_exhaustive()
    }
}

/// The caller's current heap is a zone's; at the end it is again what it was.
struct Entered<C: Config> {
    before: &'static Heap,
    _pin: <C::Current as CurrentHeap>::Pin,
}

impl<C: Config> Drop for Entered<C> {
    fn drop(&mut self) {
        // SAFETY: it was the current one when this pin began, and the pin still holds.
        unsafe { C::Current::set(self.before) };
    }
}

impl<C: Config> Zone<C> {
    /// A zone of an allocator; nothing where memory is short.
    #[must_use]
    pub fn new(malloc: &'static Malloc<C>) -> Option<Self> {
        let _pin = C::Current::pin();
        let heap = malloc.spare_heap().or_else(|| malloc.new_heap())?;
        heap.zone.set(1);
        Some(Self {
            malloc,
            heap,
            objects: Cell::new(0),
        })
    }

    /// The allocator that it is of.
    #[must_use]
    pub const fn malloc(&self) -> &'static Malloc<C> {
        self.malloc
    }

    /// Allocates a block of at least `size` bytes, at a multiple of `align`. Nothing if out of
    /// memory, if `size` is above `isize::MAX`, or if `align` is no power of two.
    #[must_use = "the block is in use until the zone goes"]
    pub fn allocate(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.allocate_layout(Layout::from_size_align(size, align).ok()?)
    }

    /// The same, all zeros.
    #[must_use = "the block is in use until the zone goes"]
    pub fn allocate_zeroed(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.allocate_layout_zeroed(Layout::from_size_align(size, align).ok()?)
    }

    pub(crate) fn allocate_layout(&self, layout: Layout) -> Option<NonNull<u8>> {
        let _entered = self.enter();
        self.noted(self.malloc.allocate_layout(layout))
    }

    pub(crate) fn allocate_layout_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        let _entered = self.enter();
        self.noted(self.malloc.allocate_layout_zeroed(layout))
    }

    /// Frees a block. One that is another heap's stops the program.
    ///
    /// # Safety
    /// `block` came from this zone, and nobody uses it from now on.
    pub unsafe fn free(&self, block: NonNull<u8>) {
        let _entered = self.enter();
        self.forget(block);
        // SAFETY: the caller's promise.
        unsafe { self.malloc.free(block.as_ptr()) };
    }

    /// Makes a block longer or shorter, where it is or elsewhere, at a multiple of `align`. Nothing
    /// if out of memory; then the block is as before.
    ///
    /// # Safety
    /// As for [`free`](Self::free); where the answer is a block it takes the place of the other.
    /// `align` is a power of two, and the block is at a multiple of it.
    #[must_use = "the block may be elsewhere now"]
    pub unsafe fn resize(
        &self,
        block: NonNull<u8>,
        size: usize,
        align: usize,
    ) -> Option<NonNull<u8>> {
        let _entered = self.enter();
        self.forget(block);
        // SAFETY: the caller's promise.
        let new = unsafe { self.malloc.resize(block.as_ptr(), size, align) };
        let resized = self.noted(new);
        if resized.is_none() {
            self.note(block);
        }
        resized
    }

    fn enter(&self) -> Entered<C> {
        let pin = C::Current::pin();
        let before = C::Current::get();
        self.heap.own.caller.set(before.own.caller.get());
        // SAFETY: pinned; the heap is the zone's alone, and a zone is no two threads' at once.
        unsafe { C::Current::set(self.heap) };
        Entered { before, _pin: pin }
    }

    /// The record that says what a block is.
    fn record(&self, block: NonNull<u8>) -> &'static Span {
        self.malloc.first_unit(block.as_ptr().expose_provenance())
    }

    fn noted(&self, block: *mut u8) -> Option<NonNull<u8>> {
        let block = NonNull::new(block)?;
        self.note(block);
        Some(block)
    }

    /// Notes an object above the classes, which has no owner to be found by.
    fn note(&self, block: NonNull<u8>) {
        let span = self.record(block);
        if span.is(Use::Blocks) {
            return;
        }
        let next = self.objects.replace(span.unit.get());
        span.prev.set(0);
        span.next.set(next);
        if next != 0 {
            self.malloc.map.span(next).prev.set(span.unit.get());
        }
    }

    /// Forgets an object above the classes. Stops the program for a block of somebody else's.
    fn forget(&self, block: NonNull<u8>) {
        let span = self.record(block);
        let ours = if span.is(Use::Blocks) {
            span.owner.is(self.heap)
        } else {
            let (span, _) = self.malloc.object_at(block.as_ptr().addr());
            self.unlink(span)
        };
        if !ours {
            let address = block.as_ptr().addr();
            stop(&self.malloc.source, Misuse::Foreign, address);
        }
    }

    /// Takes an object out of the list; whether it was in there.
    fn unlink(&self, span: &Span) -> bool {
        let (prev, next) = (span.prev.get(), span.next.get());
        let link = (prev != 0).then(|| &self.malloc.map.span(prev).next);
        if link.map_or(self.objects.get(), Half::get) != span.unit.get() {
            return false;
        }
        match link {
            Some(link) => link.set(next),
            None => self.objects.set(next),
        }
        if next != 0 {
            self.malloc.map.span(next).prev.set(prev);
        }
        true
    }
}

impl<C: Config> Drop for Zone<C> {
    fn drop(&mut self) {
        let _entered = self.enter();
        while self.objects.get() != 0 {
            let span = self.malloc.map.span(self.objects.get());
            self.unlink(span);
            self.malloc.free_units(span.base());
        }
        self.malloc.end_zone(self.heap);
    }
}

impl<C: Config> Malloc<C> {
    /// The heap of a zone that is gone.
    fn spare_heap(&'static self) -> Option<&'static Heap> {
        self.with_pool(|_| {
            let heap = self.spare.get()?;
            self.spare.set(heap.spare.get());
            Some(heap)
        })
    }

    /// Gives all spans of a zone's heap back, whatever of them is in use, and the heap to the next
    /// zone.
    fn end_zone(&'static self, heap: &'static Heap) {
        self.post_outgoing(heap);
        let held = self.hold_heap(heap);
        self.collect(heap);
        heap.own.tops.forget();
        heap.own.forget_waiting();
        for span in self.spans_of(heap) {
            if span.listed.get() == 0 {
                self.list(heap, span);
            }
            self.retire(heap, span);
        }
        drop(held);
        if C::Hardening::SCRUB {
            self.purge_down_to(0);
        }
        self.tend_freed();
        self.with_pool(|_| {
            heap.spare.set(self.spare.get());
            self.spare.set(Some(heap));
        });
    }

    /// The spans that a heap owns. Only who has the heap makes them its, or no longer its.
    fn spans_of(&'static self, heap: &'static Heap) -> impl Iterator<Item = &'static Span> {
        // An arena may go as soon as nobody has a unit of it, and others come and go meanwhile.
        let from = |order, after| {
            self.with_pool(|pool| {
                let arena = pool.arena_from(order, after)?;
                Some((
                    arena,
                    arena.order.get(),
                    arena.base.get(),
                    !arena.free.get(),
                ))
            })
        };
        let next = move |(arena, order, ..): &(&'static Arena, usize, usize, u64)| {
            from(order + 1, Some(*arena))
        };
        let arenas = core::iter::successors(from(0, None), next);
        let units = |used: u64| (0..64).filter(move |at| used >> at & 1 == 1);
        let spans = arenas.flat_map(move |(_, _, base, used)| {
            units(used).map(move |at| self.map.span_at(base + at as usize * UNIT))
        });
        spans.filter(move |span| span.is(Use::Blocks) && span.owner.is(heap))
    }
}
