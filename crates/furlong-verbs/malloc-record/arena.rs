//! The allocator of a recorded program. All its memory lies in one reservation, so that the memory
//! of the heap can be told from all other memory, and the touched pages of a block from its others.
//!
//! Each size class has a region of its own. Blocks up to [`SMALL_MAX`] bytes lie close together; a
//! free one links to the next. Larger ones begin with untouched pages, which they give back when
//! they are freed; their lengths lie in a table.

use core::ffi::{c_int, c_uchar, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::system::{madvise, mmap};

unsafe extern "C" {
    fn mincore(at: *mut c_void, len: usize, answer: *mut c_uchar) -> c_int;
    fn sched_yield() -> c_int;
    fn sysinfo(answer: *mut u64) -> c_int;
}

/// Bytes of a page, as recorded.
pub(crate) const PAGE: usize = 4096;

/// Bytes of the largest block that counts as touched whole.
const SMALL_MAX: usize = 16 << 10;

const SMALL_CLASSES: usize = 80;
const LARGE_CLASSES: usize = 22;
const CLASSES: usize = SMALL_CLASSES + LARGE_CLASSES;

/// Bytes of a class's region, and the alignment of all of them.
const REGION: usize = 1 << 38;

/// Bytes of the table of lengths of a class of large blocks.
const TABLE: usize = REGION / 32;

/// The regions of the classes, and one for the tables.
const RESERVED: usize = (CLASSES + 1) * REGION;

/// Bit of a large block in use, above its length.
const LIVE: usize = 1 << 63;

const PROT_READ_WRITE: c_int = 3;
const MAP_PRIVATE_ANONYMOUS_NORESERVE: c_int = 0x4022;
const MADV_DONTNEED: c_int = 4;
const MADV_NOHUGEPAGE: c_int = 15;
const MADV_DONTDUMP: c_int = 16;

/// Start of the reservation; null if there is none.
static BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

static LOCK: AtomicU32 = AtomicU32::new(0);

/// Blocks of each class so far.
static BLOCKS: [AtomicUsize; CLASSES] = [const { AtomicUsize::new(0) }; CLASSES];

/// First free block of each class: its index plus one.
static FREE: [AtomicUsize; CLASSES] = [const { AtomicUsize::new(0) }; CLASSES];

/// Reserves the address space. Without it every call goes to the C library's own allocator.
pub(crate) fn begin() {
    // SAFETY: a new mapping at any address.
    let at = unsafe {
        mmap(
            ptr::null_mut(),
            RESERVED + REGION,
            PROT_READ_WRITE,
            MAP_PRIVATE_ANONYMOUS_NORESERVE,
            -1,
            0,
        )
    };
    if at.addr() == usize::MAX {
        return;
    }
    let at: *mut u8 = at.cast();
    let base = at.wrapping_add(at.addr().wrapping_neg() & (REGION - 1));
    for advice in [MADV_NOHUGEPAGE, MADV_DONTDUMP] {
        // SAFETY: a part of the mapping. A huge page would touch the pages around it.
        unsafe { madvise(base.cast(), RESERVED, advice) };
    }
    BASE.store(base, Ordering::SeqCst);
}

/// True if address space was reserved. Otherwise the heap cannot be told from other memory.
pub(crate) fn is_there() -> bool {
    !BASE.load(Ordering::SeqCst).is_null()
}

/// Waits for the lock, also before a fork.
pub(crate) fn lock() {
    while LOCK.swap(1, Ordering::SeqCst) != 0 {
        // SAFETY: no contract.
        unsafe { sched_yield() };
    }
}

/// Gives the lock back, also after a fork.
pub(crate) fn unlock() {
    LOCK.store(0, Ordering::SeqCst);
}

/// True if the block came from here.
pub(crate) fn owns(block: *mut c_void) -> bool {
    let base = BASE.load(Ordering::SeqCst);
    !base.is_null() && block.addr().wrapping_sub(base.addr()) < RESERVED
}

/// The class of a size, and its length in bytes.
fn class_of(size: usize, align: usize) -> Option<(usize, usize)> {
    let size = size.max(1);
    // A block of a power of two is aligned to it.
    let size = match align {
        0..=16 => size,
        _ => size.max(align).checked_next_power_of_two()?,
    };
    if size <= 1024 {
        let class = (size - 1) / 16;
        return Some((class, (class + 1) * 16));
    }
    let last = size - 1;
    let log = last.ilog2() as usize;
    if size <= SMALL_MAX {
        let quarter = last >> (log - 2) & 3;
        return Some((64 + (log - 10) * 4 + quarter, (5 + quarter) << (log - 2)));
    }
    let class = SMALL_CLASSES + log - 14;
    (class < CLASSES).then_some((class, 2 << log))
}

/// Bytes of a block of a class.
fn bytes_of(class: usize) -> usize {
    match class {
        0..64 => (class + 1) * 16,
        64..SMALL_CLASSES => (5 + class % 4) << (8 + (class - 64) / 4),
        _ => (2 * SMALL_MAX) << (class - SMALL_CLASSES),
    }
}

fn at(class: usize, index: usize) -> *mut u8 {
    let base = BASE.load(Ordering::SeqCst);
    base.wrapping_add(class * REGION + index * bytes_of(class))
}

/// The length of a large block; of a free one the index of the next, plus one.
fn entry(class: usize, index: usize) -> *mut usize {
    let tables = BASE.load(Ordering::SeqCst).wrapping_add(CLASSES * REGION);
    let table = tables.wrapping_add((class - SMALL_CLASSES) * TABLE);
    table.cast::<usize>().wrapping_add(index)
}

/// The word that links a free block to the next.
fn link(class: usize, index: usize) -> *mut usize {
    if class < SMALL_CLASSES {
        at(class, index).cast()
    } else {
        entry(class, index)
    }
}

/// Class and index of a block that came from here.
fn place(block: *mut c_void) -> (usize, usize) {
    let offset = block.addr() - BASE.load(Ordering::SeqCst).addr();
    let class = offset / REGION;
    (class, offset % REGION / bytes_of(class))
}

/// A block and whether it holds zeros; null if there is no room or no reservation.
pub(crate) fn allocate(size: usize, align: usize) -> (*mut c_void, bool) {
    let none = (ptr::null_mut(), false);
    if BASE.load(Ordering::SeqCst).is_null() {
        return none;
    }
    let Some((class, bytes)) = class_of(size, align) else {
        return none;
    };
    lock();
    let free = FREE[class].load(Ordering::SeqCst);
    let index = if free > 0 {
        // SAFETY: a free block's word, which the lock protects.
        let next = unsafe { link(class, free - 1).read() };
        FREE[class].store(next, Ordering::SeqCst);
        free - 1
    } else {
        let index = BLOCKS[class].load(Ordering::SeqCst);
        if index >= REGION / bytes {
            unlock();
            return none;
        }
        BLOCKS[class].store(index + 1, Ordering::SeqCst);
        index
    };
    if class >= SMALL_CLASSES {
        // SAFETY: the entry of this block.
        unsafe { entry(class, index).write(size | LIVE) };
    }
    unlock();
    let is_zero = free == 0 || class >= SMALL_CLASSES;
    (at(class, index).cast(), is_zero)
}

/// Frees a block that came from here.
pub(crate) fn free(block: *mut c_void) {
    let (class, index) = place(block);
    if class >= SMALL_CLASSES {
        discard(block, bytes(block).next_multiple_of(PAGE));
    }
    lock();
    let next = FREE[class].load(Ordering::SeqCst);
    // SAFETY: the word of a block that nobody uses any more.
    unsafe { link(class, index).write(next) };
    FREE[class].store(index + 1, Ordering::SeqCst);
    unlock();
}

/// Gives pages back; they are then untouched. Locked memory stays, but holds zeros.
fn discard(at: *mut c_void, len: usize) {
    // SAFETY: whole pages of a block whose contents nobody needs.
    if len > 0 && unsafe { madvise(at, len, MADV_DONTNEED) } != 0 {
        // SAFETY: as above.
        unsafe { ptr::write_bytes(at.cast::<u8>(), 0, len) };
    }
}

/// Bytes that a block can hold.
pub(crate) fn bytes(block: *mut c_void) -> usize {
    let (class, index) = place(block);
    if class < SMALL_CLASSES {
        return bytes_of(class);
    }
    // SAFETY: the entry of a block in use, which only its user changes.
    let len = unsafe { entry(class, index).read() };
    len & !LIVE
}

/// Resizes a block in place; false if its class does not fit.
pub(crate) fn resize(block: *mut c_void, size: usize) -> bool {
    let (class, index) = place(block);
    if class_of(size, 1).is_none_or(|(wanted, _)| wanted != class) {
        return false;
    }
    if class >= SMALL_CLASSES {
        let [now, then] = [bytes(block), size].map(|len| len.next_multiple_of(PAGE));
        discard(block.wrapping_byte_add(then), now.saturating_sub(then));
        // SAFETY: the entry of a block in use, which only its user changes.
        unsafe { entry(class, index).write(size | LIVE) };
    }
    true
}

/// Copies the touched pages of a block to another, at most `len` bytes.
pub(crate) fn copy(from: *mut c_void, to: *mut c_void, len: usize) {
    let mut done = 0;
    touched(from, len, |first, pages| {
        let [begin, end] = [first, first + pages].map(|page| (page * PAGE).min(len));
        copy_contents(from, to, done, begin);
        copy_part(from, to, begin, end);
        done = end;
    });
    copy_contents(from, to, done, len);
}

/// Copies the pages between two offsets that hold something: what was swapped out is not resident,
/// and counts as untouched.
fn copy_contents(from: *mut c_void, to: *mut c_void, begin: usize, end: usize) {
    if !is_swapping() {
        return;
    }
    for at in (begin..end).step_by(PAGE) {
        let until = (at + PAGE).min(end);
        let page = from.wrapping_byte_add(at).cast::<u8>();
        // SAFETY: a part of a block in use.
        let bytes = unsafe { core::slice::from_raw_parts(page, until - at) };
        if bytes.iter().any(|byte| *byte != 0) {
            copy_part(from, to, at, until);
        }
    }
}

/// True if the machine has swapped anything out, or does not say.
fn is_swapping() -> bool {
    let mut told = [0_u64; 32];
    // SAFETY: more room than the answer of 14 words needs.
    let failed = unsafe { sysinfo(told.as_mut_ptr()) } != 0;
    // All swap space, and the part that is free.
    failed || told[8] != told[9]
}

fn copy_part(from: *mut c_void, to: *mut c_void, begin: usize, end: usize) {
    let (from, to) = (from.wrapping_byte_add(begin), to.wrapping_byte_add(begin));
    // SAFETY: parts of two blocks in use, which do not overlap.
    unsafe { ptr::copy_nonoverlapping::<u8>(from.cast(), to.cast(), end - begin) };
}

/// Length of a block whose pages are recorded; `None` for a small one.
pub(crate) fn large(block: *mut c_void) -> Option<usize> {
    let (class, _) = place(block);
    (class >= SMALL_CLASSES).then(|| bytes(block))
}

/// Hands out the runs of touched pages in the first `len` bytes at an address: first page, count.
/// Returns the number of these pages.
pub(crate) fn touched(at: *mut c_void, len: usize, mut run: impl FnMut(usize, usize)) -> usize {
    const PAGES: usize = 1024;
    let end = at.wrapping_byte_add(len);
    let at = at.wrapping_byte_sub(at.addr() % PAGE);
    let pages = (end.addr() - at.addr()).div_ceil(PAGE);
    let (mut begin, mut all) = (None, 0);
    for from in (0..pages).step_by(PAGES) {
        let mut answer: [c_uchar; PAGES] = [0; PAGES];
        let count = PAGES.min(pages - from);
        let part = at.wrapping_byte_add(from * PAGE);
        // SAFETY: mapped memory, and room for an answer of a byte a page.
        let failed = unsafe { mincore(part, count * PAGE, answer.as_mut_ptr()) } != 0;
        if failed {
            answer = [1; PAGES];
        }
        for (page, is_touched) in answer.iter().take(count).enumerate() {
            let page = from + page;
            match (is_touched & 1 != 0, begin) {
                (true, None) => begin = Some(page),
                (false, Some(first)) => {
                    run(first, page - first);
                    all += page - first;
                    begin = None;
                }
                _ => {}
            }
        }
    }
    if let Some(first) = begin {
        run(first, pages - first);
        all += pages - first;
    }
    all
}

/// Resident bytes of all blocks, and of everything else here.
pub(crate) fn resident() -> usize {
    let mut pages = 0;
    for class in 0..CLASSES {
        let blocks = BLOCKS[class].load(Ordering::SeqCst);
        if blocks > 0 {
            pages += touched(at(class, 0).cast(), blocks * bytes_of(class), |_, _| {});
            if class >= SMALL_CLASSES {
                pages += touched(entry(class, 0).cast(), blocks * 8, |_, _| {});
            }
        }
    }
    pages * PAGE
}

/// Hands out all large blocks in use.
pub(crate) fn all_large(mut block: impl FnMut(*mut c_void)) {
    for class in SMALL_CLASSES..CLASSES {
        for index in 0..BLOCKS[class].load(Ordering::SeqCst) {
            // SAFETY: the entry of a block that was made.
            if unsafe { entry(class, index).read() } & LIVE != 0 {
                block(at(class, index).cast());
            }
        }
    }
}
