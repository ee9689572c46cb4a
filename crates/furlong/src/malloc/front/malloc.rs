//! The allocator: its gates and the rest of its interface.

use core::{
    alloc::Layout,
    ptr::{self, NonNull},
};

use crate::malloc::{
    central::{
        large::{LARGE_MAX, SIZE_MAX},
        map::Map,
        pool::Pool,
        span::Span,
    },
    class::{CLASSES, Class, FINE_MAX, GRAIN, MEDIUM_MAX, SMALL_MAX, UNIT},
    config::{Config, Gate, Hardening, Tier},
    field::Link,
    os::{
        block::{begins_with, pointer, set_first_word, zero},
        current::CurrentHeap,
        source::PageSource,
    },
    policy::{Policy, Profile},
    thread::heap::Heap,
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
#[repr(C)]
pub struct Malloc<C: Config> {
    pub(crate) map: Map,
    pub(crate) policy: Policy,
    pub(crate) pool: Pool,
    pub(crate) source: C::Source,
    /// Former heaps of zones, for reuse; under the pool's latch.
    pub(crate) spare: Link<Heap>,
}

impl<C: Config> core::fmt::Debug for Malloc<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Malloc")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

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
            map: Map::new(),
            policy: Policy::new(),
            pool: Pool::new(),
            source,
            spare: Link::none(),
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
        let policy = unsafe { &raw mut (*place).policy };
        // SAFETY: as above.
        unsafe { policy.write(Policy::new()) };
        // SAFETY: as above.
        let pool = unsafe { &raw mut (*place).pool };
        // SAFETY: as above.
        unsafe { pool.write(Pool::new()) };
        // SAFETY: as above.
        let system = unsafe { &raw mut (*place).source };
        // SAFETY: as above.
        unsafe { system.write(source) };
        // SAFETY: as above.
        let spare = unsafe { &raw mut (*place).spare };
        // SAFETY: as above. All fields are written now but the map, whose records and roots begin
        // as all zeros.
        unsafe { spare.write(Link::none()) };
    }

    /// The system under it.
    pub const fn source(&self) -> &C::Source {
        &self.source
    }

    /// Replaces the profile of the allocator's type by another. Heaps follow as they refill stacks.
    pub fn follow(&'static self, profile: &Profile) {
        let _pin = C::Current::pin();
        self.with_pool(|_| self.policy.follow(profile));
    }

    /// The gate of allocation: a block of at least `size` bytes, at a multiple of 16. Null if out
    /// of memory or if `size` is above `isize::MAX`.
    #[must_use = "nobody else frees the block"]
    #[inline(always)]
    pub fn allocate(&'static self, size: usize) -> *mut u8 {
        C::Gate::enter(|| {
            let _pin = C::Current::pin();
            let grains = Self::with_seal(size).wrapping_add(GRAIN - 1) / GRAIN;
            if grains > FINE_MAX / GRAIN {
                return self.allocate_coarse(size);
            }
            self.allocate_kept(grains, size)
        })
    }

    /// [`allocate`](Self::allocate) for sizes whose class is not their number of grains. A separate
    /// function, so that the path of small sizes has no jump.
    #[inline(never)]
    fn allocate_coarse(&'static self, size: usize) -> *mut u8 {
        let sealed = Self::with_seal(size);
        match Class::of(sealed) {
            Some(class) if sealed <= SMALL_MAX => self.allocate_kept(class.index(), size),
            _ => self.allocate_slow(size),
        }
    }

    #[inline(always)]
    fn allocate_kept(&'static self, class: usize, size: usize) -> *mut u8 {
        if !C::Tier::cached(&self.policy, class as u8) {
            return self.allocate_slow(size);
        }
        let block = C::Current::get().cache.bins.pop(class);
        if block == 0 {
            return self.allocate_slow(size);
        }
        if C::Hardening::SCRUB {
            let room = Class::numbered(class).size();
            self.inspect(block, room);
            self.sealed(block, room, size);
        }
        if C::Hardening::CHECK {
            // SAFETY: a free block of the heap, now the caller's.
            unsafe { set_first_word(block, 0) };
        }
        pointer(block)
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
            let span = self.map.span_at(address);
            let heap = C::Current::get();
            if !span.owner.is(heap) {
                return self.free_slow(address, span);
            }
            if C::Hardening::CHECK {
                if is_inside(span, address) {
                    return self.free_slow(address, span);
                }
                let mark = heap.cache.mark.get();
                // SAFETY: the start of a block, which its holder gives up.
                if unsafe { begins_with(address, mark) } {
                    return self.free_slow(address, span);
                }
                if C::Hardening::SCRUB {
                    return self.free_sealed(heap, span, address);
                }
                if !self.keep(heap, span, address) {
                    return self.free_slow(address, span);
                }
                // SAFETY: as above.
                unsafe { set_first_word(address, mark) };
            } else if !self.keep(heap, span, address) {
                self.free_slow(address, span);
            }
        });
    }

    /// Pushes a block on its stack. `false` if the stack is full or not in use.
    #[inline(always)]
    fn keep(&'static self, heap: &'static Heap, span: &Span, address: usize) -> bool {
        let class = span.class.get();
        C::Tier::cached(&self.policy, class) && heap.cache.bins.push(class, address)
    }

    /// As [`allocate`](Self::allocate), at a multiple of `align`. Null also if `align` is not a
    /// power of two.
    #[must_use = "nobody else frees the block"]
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
        match Class::aligned(Self::with_seal(size), align) {
            Some(class) => pointer(self.sealed(self.allocate_class(class), class.size(), size)),
            None => pointer(self.allocate_units(size, align.div_ceil(UNIT)).0),
        }
    }

    /// Refuses a request whose size overflows: returns null, as if out of memory.
    #[must_use = "the caller's caller gets it"]
    pub fn refuse(&'static self) -> *mut u8 {
        pointer(self.refuse_memory())
    }

    /// As [`allocate_aligned`](Self::allocate_aligned), filled with zeros.
    #[must_use = "nobody else frees the block"]
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
        let (block, zeros) = self.allocate_units(size, align.div_ceil(UNIT));
        if block != 0 && !zeros {
            // SAFETY: a new object of at least this size.
            unsafe { zero(block, size) };
        }
        pointer(block)
    }

    /// As [`allocate_aligned`](Self::allocate_aligned), as an option.
    #[must_use = "nobody else frees the block"]
    pub fn try_allocate(&'static self, size: usize, align: usize) -> Option<NonNull<u8>> {
        NonNull::new(self.allocate_aligned(size, align))
    }

    /// The largest size served by the same block as `size`; `size` itself if no block is that
    /// large.
    #[must_use]
    pub fn good_size(&self, size: usize) -> usize {
        if size > SIZE_MAX {
            return size;
        }
        let sealed = Self::with_seal(size);
        let room = match Class::of(sealed) {
            Some(class) => class.size(),
            None if sealed <= LARGE_MAX => sealed.next_multiple_of(UNIT),
            None => sealed.next_multiple_of(self.source.page_size()),
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
