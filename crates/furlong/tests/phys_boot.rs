//! A terabyte of memory is plugged into a `const` static table at boot, without an allocator and
//! with its bookkeeping inside itself. At most 0.02 % of the terabyte is ever touched before a
//! frame is used.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::check::Check;
use furlong::phys::{Descriptor, SegmentId, SegmentTable, UnplugError};

/// The heap, which counts the thread's allocations.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does everything; a cell without a drop function always exists.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(piece, layout) };
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// A page descriptor of 64 bytes, as kernels have.
struct Page {
    frame: Pfn,
    users: AtomicU64,
    _rest: [u64; 6],
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self {
            frame,
            users: AtomicU64::new(0),
            _rest: [0; 6],
        }
    }
}

const PAGE: usize = 4096;
const TIB: usize = 1 << 40;
/// 0.02 % of the terabyte.
const SHARE: usize = TIB / 5000;
/// Frames of a section, whose descriptors are made together.
const SECTION: u64 = 4096;

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        off: i64,
    ) -> *mut c_void;
    fn mprotect(at: *mut c_void, len: usize, prot: c_int) -> c_int;
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
    fn mincore(at: *mut c_void, len: usize, resident: *mut u8) -> c_int;
}

const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 1 | 2;
/// Private, anonymous, without reserving swap.
const MAP_RESERVED: c_int = 0x2 | 0x20 | 0x4000;
const MADV_NOHUGEPAGE: c_int = 15;

/// A terabyte of memory as its owner sees it: addresses without memory behind them yet.
struct Terabyte(NonNull<c_void>);

impl Terabyte {
    fn reserve() -> Self {
        // SAFETY: a fresh mapping, wherever the system places it.
        let start = unsafe { mmap(std::ptr::null_mut(), TIB, PROT_NONE, MAP_RESERVED, -1, 0) };
        assert_ne!(
            start.addr(),
            usize::MAX,
            "the system has a terabyte of addresses"
        );
        // SAFETY: advice about the mapping; without it pages of 2 MiB may be touched.
        unsafe { madvise(start, TIB, MADV_NOHUGEPAGE) };
        Self(NonNull::new(start).expect("a mapping is not at 0"))
    }

    /// The first `len` bytes, writable.
    fn front(&self, len: usize) -> &'static mut [MaybeUninit<u8>] {
        let len = len.next_multiple_of(PAGE);
        // SAFETY: a part of the mapping, not in use.
        let done = unsafe { mprotect(self.0.as_ptr(), len, PROT_READ_WRITE) };
        assert_eq!(done, 0, "the system lends {len} bytes without having them");
        let bytes = NonNull::slice_from_raw_parts(self.0.cast(), len);
        // SAFETY: mapped, zero, never unmapped, and lent once.
        unsafe { &mut *bytes.as_ptr() }
    }

    /// Number of bytes of the first `len` that are resident.
    fn resident(&self, len: usize) -> usize {
        let mut pages = vec![0_u8; len.div_ceil(PAGE)];
        // SAFETY: a part of the mapping, and a byte for each of its pages.
        let done = unsafe { mincore(self.0.as_ptr(), len, pages.as_mut_ptr()) };
        assert_eq!(done, 0, "the system says what is resident");
        pages.iter().filter(|page| **page & 1 == 1).count() * PAGE
    }
}

fn terabyte_at(start: u64) -> Extent<Pfn> {
    Extent::from_len(Pfn::new(start), (TIB / PAGE) as u64).expect("not empty")
}

/// Plugs a terabyte that begins with frame `start`, and measures its memory use.
fn plugged(table: &'static SegmentTable<Page>, start: u64) -> (Terabyte, SegmentId, usize) {
    let memory = Terabyte::reserve();
    let range = terabyte_at(start);
    let asked = ASKED.get();
    let mut segments = table.lock();
    segments.start().expect("nothing is needed for no segments");
    let bytes = segments
        .hosted_bytes(range)
        .expect("frames that there can be");
    let id = segments
        .plug_hosted(range, memory.front(bytes))
        .expect("it hosts all that it needs");
    segments.check().expect("no invariant is broken");
    drop(segments);
    assert_eq!(ASKED.get(), asked, "nothing comes from the heap");
    (memory, id, bytes)
}

fn is_within_its_share(table: &'static SegmentTable<Page>, start: u64) {
    let (memory, id, bytes) = plugged(table, start);
    let descriptors = (TIB / PAGE) * size_of::<Page>();
    let rest = bytes - descriptors;
    assert!(rest <= SHARE, "{rest} bytes beside the descriptors");
    let before = memory.resident(bytes);
    assert!(before <= SHARE, "{before} bytes are resident");

    let asked = ASKED.get();
    let frames = [0, 1, SECTION - 1, 1 << 20, (1 << 28) - 1].map(|frame| Pfn::new(start + frame));
    let reader = table.rcu().register().expect("there is a slot");
    for (made, frame) in frames.into_iter().enumerate() {
        let address = PhysAddr::new(frame.raw() * PAGE as u64 + 123);
        let guard = reader.enter();
        let view = table.read(&guard);
        assert_eq!(view.find(frame), Some((id, frame.raw() - start)));
        let is_first = !(1..3).contains(&made);
        assert_eq!(view.page(address).is_none(), is_first, "frame {frame}");
        drop(guard);
        let mut segments = table.lock();
        let page = segments.page_or_make(address).expect("it is there");
        page.users.fetch_add(1, Ordering::SeqCst);
        assert_eq!(page.frame, frame);
        assert_eq!(segments.make(frame), Ok(false), "it was made");
    }
    let guard = reader.enter();
    let view = table.read(&guard);
    for frame in frames {
        let page = view.page_of(frame).expect("it was made");
        let users = page.users.load(Ordering::SeqCst);
        assert_eq!((page.frame, users), (frame, 1));
    }
    assert_eq!(ASKED.get(), asked, "nothing comes from the heap");

    let touched = memory.resident(bytes) - before;
    let section = SECTION as usize * size_of::<Page>();
    let most = 3 * (section + 2 * PAGE);
    assert!(
        (3 * section..=most).contains(&touched),
        "{touched} bytes for three sections"
    );
}

#[test]
fn a_terabyte_hosts_its_bookkeeping_in_a_five_thousandth_of_itself() {
    static TABLE: SegmentTable<Page> = SegmentTable::new();
    is_within_its_share(&TABLE, 0x10_0000);
}

#[test]
fn so_does_one_at_the_top_of_52_bits() {
    static TABLE: SegmentTable<Page> = SegmentTable::new();
    is_within_its_share(&TABLE, (1 << 40) - (1 << 28));
}

#[test]
fn a_terabyte_that_was_plugged_at_boot_can_be_changed_without_other_memory() {
    static TABLE: SegmentTable<Page> = SegmentTable::new();
    let start = 0x10_0000;
    let (memory, id, bytes) = plugged(&TABLE, start);
    let asked = ASKED.get();
    let mut segments = TABLE.lock();
    let frames = |from, to| {
        let extent = Extent::from_end(Pfn::new(start + from), Pfn::new(start + to));
        extent.expect("not empty")
    };
    let host = bytes.div_ceil(PAGE) as u64;
    assert_eq!(segments.managed(), (1 << 28) - host);
    let refused = segments.unplug(frames(host - 1, host + 1));
    assert_eq!(refused, Err(UnplugError::Bookkeeping(frames(0, host))));
    for middle in [1 << 25, 1 << 26, 1 << 27] {
        segments
            .make(Pfn::new(start + middle))
            .expect("it is there");
        let hole = frames(middle, middle + 5000);
        segments.unplug(hole).expect("it needs no other memory");
    }
    assert_eq!(segments.len(), 4);
    let (found, _) = segments.find(Pfn::new(start)).expect("it stays");
    assert_eq!(found, id);
    segments.check().expect("no invariant is broken");
    assert_eq!(ASKED.get(), asked, "nothing comes from the heap");
    assert!(memory.resident(bytes) <= SHARE);
}
