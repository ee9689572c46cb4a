//! Memory of a recorded program: the pages of its large blocks that were touched, and all memory
//! outside the heap, from time to time.

use core::ffi::{c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::arena::{self, PAGE};
use crate::log::{self, Kind, append};
use crate::system::{close, open, read};

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut [c_long; 2]) -> c_int;
    fn __errno_location() -> *mut c_int;
}

const O_CLOEXEC: c_int = 0o2_000_000;
const CLOCK_MONOTONIC: c_int = 1;
const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;

/// Calls from one sample to the next at first, and samples after which it is twice that.
const CALLS: u64 = 64;
const SAMPLES: u64 = 256;

/// The part of the time that samples may take: one in this many.
const PART: u64 = 16;

/// Bytes mapped or unmapped by the program after which a sample is due; less than a
/// sixty-fourth of its memory does not count.
const MAPPED_BYTES: usize = 256 << 10;

/// Bytes of the largest block that counts as touched whole if nothing is recorded of it.
const WHOLE_MAX: usize = 64 << 20;

static UNDER_WAY: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(CALLS);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static NOT_BEFORE_NS: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicUsize = AtomicUsize::new(0);
static RESIDENT: AtomicUsize = AtomicUsize::new(0);

/// Bytes of the heap that a child has from its parent.
static INHERITED: AtomicUsize = AtomicUsize::new(0);

/// Called for each recorded call.
pub(crate) fn called() {
    let count = COUNT.fetch_add(1, Ordering::SeqCst);
    if count >= NEXT.load(Ordering::SeqCst) {
        let step = CALLS << (TAKEN.load(Ordering::SeqCst) / SAMPLES).min(40);
        NEXT.store(count + step, Ordering::SeqCst);
        sample(Due::IfCheap);
    }
}

/// Called before the program maps or unmaps memory itself.
pub(crate) fn mapping(len: usize) {
    let mapped = MAPPED.fetch_add(len, Ordering::SeqCst).saturating_add(len);
    if log::is_on() && mapped >= MAPPED_BYTES.max(RESIDENT.load(Ordering::SeqCst) / 64) {
        MAPPED.store(0, Ordering::SeqCst);
        sample(Due::IfCheap);
    }
}

/// Called when a process ends: its blocks in use, and a last sample.
pub(crate) fn ended() {
    if log::is_on() {
        arena::all_large(report);
        sample(Due::Now);
    }
}

/// Called in a child. No other thread of it is taking a sample, and its parent's blocks are not its
/// own.
pub(crate) fn forked() {
    UNDER_WAY.store(false, Ordering::SeqCst);
    INHERITED.store(arena::resident(), Ordering::SeqCst);
}

/// Records the touched pages of a large block, unless that is all of them.
pub(crate) fn report(block: *mut c_void) {
    let Some(len) = arena::owns(block).then(|| arena::large(block)).flatten() else {
        return;
    };
    let errno = errno();
    let all = len.div_ceil(PAGE);
    let mut runs = 0;
    let mut put = |first: usize, count: usize| {
        let run = first << 32 | count;
        append(
            Kind::Touched,
            runs,
            1,
            block,
            ptr::without_provenance_mut(run),
        );
        runs += 1;
    };
    // Two walks, so that a block that was touched whole costs no event, if it is taken for one.
    let whole = len <= WHOLE_MAX && arena::touched(block, len, |_, _| {}) == all;
    if !whole && arena::touched(block, len, &mut put) == 0 {
        put(0, 0);
    }
    set_errno(errno);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Not if samples would take too much of the time.
    IfCheap,
    Now,
}

fn sample(due: Due) {
    if !arena::is_there() {
        return;
    }
    let began = now_ns(CLOCK_MONOTONIC);
    if due == Due::IfCheap && began < NOT_BEFORE_NS.load(Ordering::SeqCst)
        || UNDER_WAY.swap(true, Ordering::SeqCst)
    {
        return;
    }
    let errno = errno();
    // The log's pages are the recorder's.
    log::forget_pages();
    let heap = arena::resident();
    let heap = heap.saturating_sub(INHERITED.load(Ordering::SeqCst));
    if let Some(all) = resident() {
        RESIDENT.store(all, Ordering::SeqCst);
        let own = all.saturating_sub(heap);
        let busy = now_ns(CLOCK_PROCESS_CPUTIME_ID) as usize;
        let [busy, at] = [busy, began as usize].map(ptr::without_provenance_mut);
        append(Kind::Sampled, own, 1, busy, at);
    }
    TAKEN.fetch_add(1, Ordering::SeqCst);
    let ended = now_ns(CLOCK_MONOTONIC);
    NOT_BEFORE_NS.store(ended + (ended - began) * PART, Ordering::SeqCst);
    set_errno(errno);
    UNDER_WAY.store(false, Ordering::SeqCst);
}

fn now_ns(clock: c_int) -> u64 {
    let mut time = [0; 2];
    // SAFETY: a place for the seconds and nanoseconds.
    unsafe { clock_gettime(clock, &raw mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// Resident bytes of this process: the second number of `statm`, in pages.
fn resident() -> Option<usize> {
    let mut text = [0_u8; 64];
    // SAFETY: a path with a terminating zero.
    let file = unsafe { open(c"/proc/self/statm".as_ptr(), O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: a buffer of this length.
    let len = unsafe { read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: this function owns the descriptor.
    unsafe { close(file) };
    let digits = text.iter().take(usize::try_from(len).ok()?);
    let second = digits.skip_while(|byte| **byte != b' ').skip(1);
    let digits = second.take_while(|byte| byte.is_ascii_digit());
    let pages = digits.fold(0, |pages, digit| pages * 10 + usize::from(digit - b'0'));
    Some(pages * PAGE)
}

fn errno() -> c_int {
    // SAFETY: the C library's own place for this thread.
    let at = unsafe { __errno_location() };
    // SAFETY: as above.
    unsafe { at.read() }
}

fn set_errno(value: c_int) {
    // SAFETY: the C library's own place for this thread.
    let at = unsafe { __errno_location() };
    // SAFETY: as above.
    unsafe { at.write(value) };
}
