//! buddy_system_allocator, over an address range that is reserved once and gets memory on first
//! touch; nothing is given back. The order of each block is kept beside the heap, as in kernels, so
//! that a power of two needs no larger block.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use buddy_system_allocator::Heap as Buddies;
use talc::lock_api::Mutex;

use crate::heap::Heap;
use crate::lock::SystemLock;

/// The order of the largest block, which is the whole range: 64 GiB of addresses.
const LAST: usize = 36;
const RESERVED: usize = 1 << LAST;

/// The order of the smallest block.
const FIRST: u32 = 4;

/// The buddies, the start of their range, and a table of the orders of used blocks, one byte for
/// each 16 bytes of the range.
struct Region {
    buddies: Buddies<{ LAST + 1 }>,
    start: *mut u8,
    orders: *mut u8,
}

// SAFETY: any thread may use all of it, one at a time.
unsafe impl Send for Region {}

/// Reserves addresses that get memory on first touch; null if there are not enough.
fn reserved(len: usize) -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping anywhere.
    let start = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        ptr::null_mut()
    } else {
        start.cast()
    }
}

impl Region {
    const NONE: Self = Self {
        buddies: Buddies::new(),
        start: ptr::null_mut(),
        orders: ptr::null_mut(),
    };

    /// Reserves the addresses before the first allocation. It reserves twice the length, so that
    /// the heap can begin at a multiple of its length and is one block.
    fn begin(&mut self) -> Option<()> {
        if self.start.is_null() {
            let (start, orders) = (reserved(2 * RESERVED), reserved(RESERVED >> FIRST));
            if start.is_null() || orders.is_null() {
                return None;
            }
            let start = start.wrapping_add(start.align_offset(RESERVED));
            // SAFETY: reserved for this heap alone, for ever.
            unsafe { self.buddies.init(start.expose_provenance(), RESERVED) };
            (self.start, self.orders) = (start, orders);
        }
        Some(())
    }

    /// The entry for a block's order.
    fn order(&self, block: *mut u8) -> *mut u8 {
        let at = (block.addr() - self.start.addr()) >> FIRST;
        self.orders.wrapping_add(at)
    }

    fn allocate(&mut self, order: u32) -> Option<NonNull<u8>> {
        self.begin()?;
        let block = self.buddies.alloc(layout(order)?).ok()?;
        // SAFETY: an entry of the table, for a block that nobody else has.
        unsafe { self.order(block.as_ptr()).write(order as u8) };
        Some(block)
    }

    /// # Safety
    /// A live block.
    unsafe fn order_of(&self, block: *mut u8) -> u32 {
        // SAFETY: it was written when the block was allocated.
        u32::from(unsafe { self.order(block).read() })
    }
}

/// The order for a request; `None` if the request is larger than the range.
fn order(size: usize, align: usize) -> Option<u32> {
    let len = size.max(align).checked_next_power_of_two()?;
    (len <= RESERVED).then_some(len.trailing_zeros().max(FIRST))
}

/// The layout with which a block of an order is requested.
fn layout(order: u32) -> Option<Layout> {
    Layout::from_size_align(1 << order, 1 << FIRST).ok()
}

/// A heap of buddies.
pub(crate) struct Buddy(Mutex<SystemLock, Region>);

impl Buddy {
    /// A heap that has not reserved addresses yet.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Region::NONE))
    }
}

// SAFETY: each block is a power of two in size and alignment, and does not overlap its buddy.
unsafe impl Heap for Buddy {
    fn allocate(&self, size: usize, align: usize) -> *mut u8 {
        let block = order(size, align).and_then(|order| self.0.lock().allocate(order));
        block.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn usable(&self, block: *mut u8) -> usize {
        // SAFETY: the caller's promise.
        1 << unsafe { self.0.lock().order_of(block) }
    }

    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let usable = unsafe { self.usable(block) };
        if order(size, 1).is_some_and(|order| 1 << order == usable) {
            return block;
        }
        let other = self.allocate(size, 1);
        if !other.is_null() {
            // SAFETY: two blocks, each at least as long.
            unsafe { other.copy_from_nonoverlapping(block, usable.min(size)) };
            // SAFETY: the caller's promise.
            unsafe { self.free(block) };
        }
        other
    }

    unsafe fn free(&self, block: *mut u8) {
        let mut region = self.0.lock();
        // SAFETY: the caller's promise.
        let order = unsafe { region.order_of(block) };
        if let (Some(block), Some(layout)) = (NonNull::new(block), layout(order)) {
            // SAFETY: it was allocated with this layout, and nobody uses it any more.
            unsafe { region.buddies.dealloc(block, layout) };
        }
    }
}
