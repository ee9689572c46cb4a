//! The allocator: its gates and the rest of its interface.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use crate::forms::debug_as;
use crate::malloc::{
    CLASSES, Central, Class, Config, CurrentHeap, EmptyBlocks, FINE_MAX, GRAIN, Gate,
    GuardedBlocks, Hardening, Heap, LargeObjects, MEDIUM_MAX, Map, PageSource, Policy, Pool,
    SIZE_MAX, SMALL_MAX, Seals, Span, ThreadHeap, Tier, UNIT, Use, begins_with, clear_block,
    pointer, set_first_word, with_seal, zero,
};

/// A general-purpose allocator, for a static.
///
/// # Footprint
/// The static has a little more than 3 MiB, all zeros. It costs almost nothing if the system backs
/// zeroed pages on first touch, and its full size otherwise. Beside its arenas of 4 MiB it maps 64
/// KiB for each arena and 1 MiB + 32 KiB for each GiB of address space in use. Each heap takes up
/// to 320 KiB; a thread or processor has one, and so has a zone.
///
/// # Example
/// See `examples/malloc.rs`.
#[repr(transparent)]
pub struct Malloc<C: Config> {
    pub(crate) central: Central<C>,
}

debug_as! { Malloc<C> where [C: Config]: |it| Malloc { pool: it.central.pool, .. } }

impl<C: Config> Malloc<C> {
    /// An allocator over a system's pages. It maps nothing before the first allocation. A program
    /// uses [`thread_heap`](crate::malloc::thread_heap), which needs no `unsafe`.
    ///
    /// ```compile_fail,E0133
    /// # use furlong::malloc::{Config, Malloc};
    /// fn another<C: Config>(source: C::Source) -> Malloc<C> {
    ///     Malloc::new(source)
    /// }
    /// ```
    ///
    /// # Safety
    /// A thread or processor that calls this allocator has a heap of it in `C::Current`, or none.
    /// So no other allocator has the same `C::Current`, unless no thread or processor calls both.
    #[must_use]
    pub const unsafe fn new(source: C::Source) -> Self {
        Self {
            central: Central {
                map: Map::new(),
                policy: Policy::new(),
                pool: Pool::new(),
                source,
            },
        }
    }

    /// Makes an allocator at run time, in memory of the caller's that is all zeros, as mapped pages
    /// are. It writes only the fields that are not zero, a page or two, whereas [`new`](Self::new)
    /// builds 3 MiB on the stack first. The allocator must stay there, unmoved, until all its
    /// blocks and heaps are gone.
    ///
    /// # Safety
    /// As for [`new`](Self::new); and `place` is aligned, zeroed, and used by nobody else.
    pub unsafe fn new_at(place: NonNull<Self>, source: C::Source) {
        let place = place.as_ptr();
        // SAFETY: a field of memory that is the caller's.
        let policy = unsafe { &raw mut (*place).central.policy };
        // SAFETY: as above.
        unsafe { policy.write(Policy::new()) };
        // SAFETY: as above.
        let pool = unsafe { &raw mut (*place).central.pool };
        // SAFETY: as above.
        unsafe { pool.write(Pool::new()) };
        // SAFETY: as above.
        let system = unsafe { &raw mut (*place).central.source };
        // SAFETY: as above. All fields are written now but the map, whose records and roots begin
        // as all zeros.
        unsafe { system.write(source) };
    }

    /// The system under it.
    pub const fn source(&self) -> &C::Source {
        &self.central.source
    }

    /// The gate of allocation: a block of at least `size` bytes, at a multiple of 16. Null if out
    /// of memory or if `size` is above `isize::MAX`. A block of no bytes is inaccessible, if the
    /// system can [guard](PageSource::guard) pages.
    #[must_use = "the block is leaked if the pointer is dropped"]
    #[inline(always)]
    pub fn allocate(&'static self, size: usize) -> *mut u8 {
        C::Gate::enter(|| {
            let _pin = C::Current::pin();
            let grains = with_seal::<C::Hardening>(size).wrapping_add(GRAIN - 1) / GRAIN;
            if grains > FINE_MAX / GRAIN {
                return self.allocate_coarse(size);
            }
            self.allocate_from_bin(grains, size)
        })
    }

    /// Pops a block of the caller's heap; anything else is a slow path.
    #[inline(always)]
    fn allocate_from_bin(&'static self, class: usize, size: usize) -> *mut u8 {
        if !C::Tier::cached(&self.central.policy, class as u8) {
            return self.allocate_slow(size);
        }
        let block = C::Current::get().cache.bins.pop(class);
        if block == 0 {
            return self.allocate_slow(size);
        }
        if C::Hardening::SCRUB {
            let room = Class::numbered(class).size();
            Seals(&self.central).inspect(block, room);
            Seals(&self.central).seal(block, room, size);
        } else if C::Hardening::CHECK {
            // SAFETY: a free block of the heap, now the caller's.
            unsafe { set_first_word(block, 0) };
        }
        pointer(block)
    }

    /// [`allocate`](Self::allocate) for sizes whose class is not their number of grains. A separate
    /// function, so that the path of small sizes has no jump.
    #[inline(never)]
    fn allocate_coarse(&'static self, size: usize) -> *mut u8 {
        let sealed = with_seal::<C::Hardening>(size);
        match Class::of(sealed) {
            Some(class) if sealed <= SMALL_MAX => self.allocate_from_bin(class.index(), size),
            _ => self.allocate_slow(size),
        }
    }

    /// Allocates a block of any size; null if out of memory.
    #[cold]
    #[inline(never)]
    fn allocate_slow(&'static self, size: usize) -> *mut u8 {
        // The blocks of a zone are freed together, so it has none that are empty.
        if size == 0 && C::Current::get().zone.get() == 0 {
            return pointer(EmptyBlocks(&self.central).allocate());
        }
        match Class::of(with_seal::<C::Hardening>(size)) {
            Some(class) => self.allocate_block(class, size),
            None => pointer(LargeObjects(&self.central).allocate(size, 1).0),
        }
    }

    /// Allocates a block of a class, from its span if need be; null if out of memory.
    #[inline(always)]
    fn allocate_block(&'static self, class: Class, size: usize) -> *mut u8 {
        let block = ThreadHeap::allocate(&self.central, class, size);
        pointer(Seals(&self.central).seal(block, class.size(), size))
    }

    /// The gate of freeing. Null is ignored.
    ///
    /// # Safety
    /// `block` is null or came from this allocator, and nobody uses it from now on.
    #[inline(always)]
    pub unsafe fn free(&'static self, block: *mut u8) {
        C::Gate::enter(|| {
            let _pin = C::Current::pin();
            let address = block.expose_provenance();
            let span = self.central.map.span_at(address);
            let heap = C::Current::get();
            if !span.owner.is(heap) {
                return self.free_slow(address, span);
            }
            if C::Hardening::CHECK {
                if is_inside(span, address) {
                    return self.free_slow(address, span);
                }
                if C::Hardening::SCRUB {
                    return self.free_sealed(heap, span, address);
                }
                let mark = heap.cache.mark.get();
                // SAFETY: the start of a block, which its holder gives up.
                if unsafe { begins_with(address, mark) } {
                    return self.free_slow(address, span);
                }
                if !self.push(heap, span, address) {
                    return self.free_slow(address, span);
                }
                // SAFETY: as above.
                unsafe { set_first_word(address, mark) };
            } else if !self.push(heap, span, address) {
                self.free_slow(address, span);
            }
        });
    }

    /// Pushes a block on its stack. `false` if the stack is full or not in use.
    #[inline(always)]
    fn push(&'static self, heap: &'static Heap, span: &Span, address: usize) -> bool {
        let bin = span.bin.get();
        C::Tier::cached(&self.central.policy, bin) && heap.cache.bins.push(bin, address)
    }

    /// The gate of freeing a block of the caller's heap, if blocks have seals.
    #[inline(always)]
    fn free_sealed(&'static self, heap: &'static Heap, span: &'static Span, address: usize) {
        let (central, class) = (&self.central, span.class());
        let intact = Seals(central).intact_contents(address, class.size());
        if intact.is_none() {
            return self.free_slow(address, span);
        }
        clear_block(address, class.size());
        ThreadHeap::new(central, heap).keep_late(span.bin.get(), address);
    }

    /// Frees everything that the gate does not: remote blocks, blocks for full stacks, objects of
    /// their own units, and invalid pointers.
    #[cold]
    #[inline(never)]
    fn free_slow(&'static self, address: usize, span: &'static Span) {
        if !self.send_next(address, span) {
            self.free_other(address, span);
        }
    }

    /// [`free_slow`](Self::free_slow) for all but the blocks of the word that was sent last. Theirs
    /// is the most frequent path, and saves no registers if the rest is a function of its own.
    #[inline(never)]
    fn free_other(&'static self, address: usize, span: &'static Span) {
        if address == 0 {
            return;
        }
        let span = self.central.map.first_of(span);
        if span.is(Use::Blocks) {
            ThreadHeap::free(&self.central, span, address);
        } else if span.is(Use::Empty) {
            EmptyBlocks(&self.central).free(span, address);
        } else if span.is(Use::Guarded) {
            GuardedBlocks(&self.central).free(span, address);
        } else {
            LargeObjects(&self.central).free(address);
        }
    }

    /// Frees a block of the word of which another heap's block was freed last. `false` if it is
    /// none, or if it may be free already.
    #[inline(always)]
    fn send_next(&'static self, address: usize, span: &'static Span) -> bool {
        let heap = C::Current::get();
        let Some(step) = heap.cache.outgoing.next(address) else {
            return false;
        };
        if C::Hardening::SCRUB {
            // Only small blocks are sent this way, and their spans have one record.
            let room = span.class().size();
            if Seals(&self.central)
                .intact_contents(address, room)
                .is_none()
            {
                return false;
            }
            clear_block(address, room);
        } else if C::Hardening::CHECK {
            let mark = heap.cache.mark.get();
            // SAFETY: the start of a block, which its holder gives up.
            if unsafe { begins_with(address, mark) } {
                return false;
            }
            // SAFETY: as above.
            unsafe { set_first_word(address, mark) };
        }
        step.take();
        true
    }

    /// As [`allocate`](Self::allocate), at a multiple of `align`. Null also if `align` is not a
    /// power of two.
    #[must_use = "the block is leaked if the pointer is dropped"]
    #[inline]
    pub fn allocate_aligned(&'static self, size: usize, align: usize) -> *mut u8 {
        match Layout::from_size_align(size, align) {
            Ok(layout) => self.allocate_layout(layout),
            Err(_) => self.refuse(),
        }
    }

    /// As [`allocate_aligned`](Self::allocate_aligned); the layout's type guarantees a power of
    /// two.
    pub(crate) fn allocate_layout(&'static self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if align <= GRAIN {
            return self.allocate(size);
        }
        let _pin = C::Current::pin();
        match Class::aligned(with_seal::<C::Hardening>(size), align) {
            Some(class) => self.allocate_block(class, size),
            None => {
                let objects = LargeObjects(&self.central);
                pointer(objects.allocate(size, align.div_ceil(UNIT)).0)
            }
        }
    }

    /// Refuses a request whose size overflows: returns null, as if out of memory.
    #[must_use = "the caller's caller gets it"]
    pub fn refuse(&'static self) -> *mut u8 {
        let _pin = C::Current::pin();
        pointer(self.central.refuse_memory())
    }

    /// As [`allocate_aligned`](Self::allocate_aligned), filled with zeros.
    #[must_use = "the block is leaked if the pointer is dropped"]
    #[inline]
    pub fn allocate_zeroed(&'static self, size: usize, align: usize) -> *mut u8 {
        match Layout::from_size_align(size, align) {
            Ok(layout) => self.allocate_layout_zeroed(layout),
            Err(_) => self.refuse(),
        }
    }

    /// As [`allocate_zeroed`](Self::allocate_zeroed); the layout's type guarantees a power of two.
    pub(crate) fn allocate_layout_zeroed(&'static self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if size <= MEDIUM_MAX && align <= MEDIUM_MAX {
            let block = self.allocate_layout(layout);
            if !block.is_null() {
                // SAFETY: a new block of at least this size.
                unsafe { zero(block.expose_provenance(), size) };
            }
            return block;
        }
        let _pin = C::Current::pin();
        let (block, used) = LargeObjects(&self.central).allocate(size, align.div_ceil(UNIT));
        if block != 0 {
            // SAFETY: a new object of at least this size.
            unsafe { zero(block, size.min(used)) };
        }
        pointer(block)
    }

    /// As [`allocate_aligned`](Self::allocate_aligned), as an option.
    #[must_use = "the block is leaked if the pointer is dropped"]
    pub fn try_allocate(&'static self, size: usize, align: usize) -> Option<NonNull<u8>> {
        NonNull::new(self.allocate_aligned(size, align))
    }

    /// The largest size served by the same block as `size`; `size` itself if no block is that
    /// large.
    #[must_use]
    pub fn good_size(&self, size: usize) -> usize {
        if size == 0 || size > SIZE_MAX {
            return size;
        }
        let sealed = with_seal::<C::Hardening>(size);
        let units = self.central.units_for(sealed);
        let room = match Class::of(sealed) {
            Some(class) => class.size(),
            None if LargeObjects::<C>::has_room(units, 1) => {
                units * UNIT - self.central.fence_len()
            }
            None => sealed.next_multiple_of(self.central.source.page_size()),
        };
        room - (sealed - size)
    }

    /// True if both are the same allocator.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

/// True if no block can begin at this address of a unit with small blocks.
#[inline(always)]
fn is_inside(span: &Span, address: usize) -> bool {
    let offset = (address & (UNIT - 1)) as u32;
    offset.wrapping_mul(span.magic.get()) >= span.limit.get()
}

const _: () = assert!(CLASSES < 256 && UNIT <= 1 << 16);
