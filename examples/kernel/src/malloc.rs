//! The heap: furlong's allocator as Rust's, on pages above 4 GiB, which a device with 32 address
//! lines does not reach.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::malloc::{
    Batched, Checked, Config, CurrentHeap, Global, Heap, Inlined, Malloc, Misuse, PageSource,
    Statistics,
};

use crate::serial::say;
use crate::{direct, iova, small};

/// Pages of the bus.
struct Pages;

// SAFETY: what is taken from the bus is memory that was available, aligned as asked, nobody else's
// until it is given back, and zeroed here; the bus allocates nothing, and nothing unwinds.
unsafe impl PageSource for Pages {
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        let at = iova::take(len as u64, align as u64, iova::HIGH)?;
        let at = PhysAddr::new(at.raw());
        // SAFETY: it is ours, and nobody has a reference yet.
        unsafe { direct::zero(at, len as u64) };
        Some(direct::pointer(at))
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        iova::give_back(Iova::new(direct::address(start).raw()), len as u64);
    }

    /// All pages have memory behind them: there is nothing to let go of.
    unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
        false
    }

    /// All that every machine has is its clock, of which few bits cannot be guessed: a kernel that
    /// relies on the checks asks what its machine has for the purpose.
    fn random(&self) -> u64 {
        // SAFETY: every processor of 64 bits has it.
        let ticks = unsafe { core::arch::x86_64::_rdtsc() };
        ticks.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Panics do not unwind here: they say so, and end the machine.
    fn stop(&self, misuse: Misuse, address: usize) -> ! {
        panic!("{misuse}: {address:#x}")
    }
}

/// The heap of the one processor, whose interrupts are off.
struct OneCpu;

static HEAP: AtomicPtr<Heap> = AtomicPtr::new(ptr::null_mut());

// SAFETY: there is one processor, and it runs one thing: nobody else is ever pinned. Handlers of
// page faults, which may allocate, run for memory that no allocator touches.
unsafe impl CurrentHeap for OneCpu {
    type Pin = ();

    fn pin() {}

    fn get() -> &'static Heap {
        // SAFETY: the pointer came from `set`, and its heap lives for ever.
        unsafe { HEAP.load(Ordering::SeqCst).as_ref() }.unwrap_or(Heap::vacant())
    }

    unsafe fn set(heap: &'static Heap) {
        HEAP.store(ptr::from_ref(heap).cast_mut(), Ordering::SeqCst);
    }
}

struct Kernel;

impl Config for Kernel {
    type Source = Pages;
    type Current = OneCpu;
    type Hardening = Checked;
    type Gate = Inlined;
    type Tier = Batched;
}

// SAFETY: it is the only allocator whose heap is in OneCpu.
static MALLOC: Malloc<Kernel> = unsafe { Malloc::new(Pages) };
#[global_allocator]
static GLOBAL: Counted = Counted(Global::new(&MALLOC));

/// The allocator, and how often it was asked for memory. The small heap goes first, uncounted.
struct Counted(Global<Kernel>);

static ASKED: AtomicU64 = AtomicU64::new(0);

fn asked() {
    ASKED.fetch_add(1, Ordering::SeqCst);
}

// SAFETY: everything is forwarded to an allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(small) = small::serving() {
            // SAFETY: the caller's promise.
            return unsafe { small.alloc(layout) };
        }
        asked();
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(small) = small::serving() {
            // SAFETY: as above; there is no other heap yet.
            return unsafe { small.dealloc(block, layout) };
        }
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) };
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(small) = small::serving() {
            // SAFETY: as above.
            return unsafe { small.alloc_zeroed(layout) };
        }
        asked();
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if let Some(small) = small::serving() {
            // SAFETY: as above.
            return unsafe { small.realloc(block, layout, size) };
        }
        asked();
        // SAFETY: as above.
        unsafe { self.0.realloc(block, layout, size) }
    }
}

/// Does work that is said not to allocate, and sees that it does not.
pub(crate) fn unused<R>(work: impl FnOnce() -> R) -> R {
    let before = ASKED.load(Ordering::SeqCst);
    let result = work();
    assert_eq!(ASKED.load(Ordering::SeqCst), before, "the heap was asked");
    result
}

/// True if the block lies above 4 GiB and every byte is the written one.
fn holds(block: &[u8], byte: u8) -> bool {
    block.as_ptr().addr() as u64 >= iova::HIGH.0.raw() && block.iter().all(|found| *found == byte)
}

/// A byte and a length for the block of a number, from 1 byte to 16 KiB.
fn shape(number: usize) -> (u8, usize) {
    ((number * 7 + 1) as u8, 1 + number * number % (16 << 10))
}

fn block(number: usize) -> Vec<u8> {
    let (byte, len) = shape(number);
    vec![byte; len]
}

/// Blocks of all sizes, freed in another order than they came in; returns what was in use.
fn fill_and_empty() -> Statistics {
    const COUNT: usize = 4000;
    let mut blocks: BTreeMap<usize, Vec<u8>> = (0..COUNT).map(|at| (at, block(at))).collect();
    // Every third one goes and another comes in its place.
    for number in (0..COUNT).step_by(3) {
        blocks.remove(&number);
        blocks.insert(COUNT + number, block(COUNT + number));
    }
    let most = MALLOC.statistics();
    assert!(
        most.used_blocks >= COUNT,
        "the vectors and the nodes of the map"
    );
    for (number, block) in &blocks {
        let (byte, len) = shape(*number);
        assert!(
            block.len() == len && holds(block, byte),
            "block {number} is as it was written"
        );
    }
    most
}

/// An object that is larger than the allocator keeps: its pages come from the bus and go back.
fn huge() -> u64 {
    const LEN: usize = 24 << 20;
    let before = iova::free_bytes(iova::HIGH);
    let mut object = vec![0_u8; LEN];
    assert!(holds(&object, 0), "fresh pages are zeros");
    object.fill(0xa5);
    object.extend_from_slice(&[0xa5; 4096]);
    assert!(holds(&object, 0xa5), "it moves with what is in it");
    drop(object);
    MALLOC.trim();
    let after = iova::free_bytes(iova::HIGH);
    assert_eq!(after, before, "all of its pages are free again");
    LEN as u64
}

/// Uses the heap, and sees it empty again.
pub(crate) fn run() {
    let most = fill_and_empty();
    let huge = huge();
    let after = MALLOC.statistics();
    assert_eq!(
        (after.used_blocks, after.used_bytes),
        (0, 0),
        "all of it is free again"
    );
    MALLOC.check().expect("every invariant holds");
    say!(
        "malloc",
        "not asked before; {} blocks with {} bytes, and one of {huge}, all above 4 GiB: every byte \
         right, all free again; {} bytes in arenas",
        most.used_blocks,
        most.used_bytes,
        after.arena_bytes,
    );
}
