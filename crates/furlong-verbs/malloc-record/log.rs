//! The log: a file, mapped by every process of the program.

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::system::{close, madvise, mmap, open, read};
use crate::{arena, sample, streams, symbols};

unsafe extern "C" {
    pub(crate) fn abort() -> !;
    fn getenv(name: *const c_char) -> *const c_char;
    fn getauxval(name: c_ulong) -> c_ulong;
    fn getpid() -> c_int;
    fn pthread_self() -> usize;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// The environment variable with the log's path.
const VARIABLE: &core::ffi::CStr = c"FURLONG_RECORD";

/// "furlrec1", which identifies a log.
const MAGIC: u64 = u64::from_le_bytes(*b"furlrec1");

/// Bytes before the first event.
const HEADER_BYTES: usize = 4096;

/// The largest size of an event.
const SIZE_MAX: u64 = (1 << 42) - 1;

const AT_SECURE: c_ulong = 23;
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const MADV_DONTNEED: c_int = 4;

/// Start of the file.
#[repr(C)]
struct Header {
    magic: u64,
    /// Maximum number of events.
    capacity: u64,
    /// Index of the next event; exceeds the capacity once the log is full.
    next: AtomicU64,
}

/// A recorded call. Its first word is written last: 0 there marks an unfinished event.
#[repr(C)]
pub(crate) struct Event {
    /// The kind, the alignment's power of two from bit 8, the thread from bit 16.
    what: AtomicU64,
    /// Bytes, and the process from bit 42.
    size: AtomicU64,
    /// The resulting block.
    block: AtomicU64,
    /// The block that the call was given.
    old: AtomicU64,
}

/// Kinds of events; 0 means none.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Kind {
    /// A program has begun in this process; earlier blocks of it are gone.
    Begun = 1,
    /// This process is a child; `old` is the parent's number.
    Forked = 2,
    /// A block was allocated.
    Allocated = 3,
    /// A zero-filled block was allocated.
    Zeroed = 4,
    /// A block is being freed.
    Freed = 5,
    /// A block is being resized: from here on, another thread may get it.
    Resizing = 6,
    /// The old block has become `block`; or resizing failed, `block` is null and the old one stays.
    Resized = 7,
    /// Pages of `block` that were touched: the first one from bit 32 of `old`, and their count; the
    /// size is the number of such events of the block directly before.
    Touched = 8,
    /// The size is this process's memory outside the heap in bytes, `block` its processor time, and
    /// `old` the time, both in nanoseconds.
    Sampled = 9,
    /// The library whose allocator would serve the program without the recorder: `block` is its
    /// file's number, and `old` that of its device.
    Served = 10,
}

const UNKNOWN: u32 = 0;
const BEGINNING: u32 = 1;
const ON: u32 = 2;
const OFF: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
static LOG: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// True if there is a log. The first call opens it.
pub(crate) fn is_on() -> bool {
    // Acquire: pairs with the release in begun; a thread that sees ON sees the log.
    STATE.load(Ordering::Acquire) == ON || begun()
}

/// True if this process is the one that the log knows; a child by `vfork` is not.
pub(crate) fn is_known() -> bool {
    // Relaxed: only a fork changes it, and the child has one thread.
    let known = PROCESS.load(Ordering::Relaxed);
    // SAFETY: no contract.
    known == unsafe { getpid() } as u64
}

/// Records a call if there is a log with room.
pub(crate) fn put(kind: Kind, size: usize, align: usize, block: *mut c_void, old: *mut c_void) {
    if is_on() {
        append(kind, size, align, block, old);
        sample::called();
    }
}

/// Writes an event if there is a log with room.
pub(crate) fn append(kind: Kind, size: usize, align: usize, block: *mut c_void, old: *mut c_void) {
    // Acquire: pairs with the release in begun; a thread that sees ON sees the log.
    if STATE.load(Ordering::Acquire) == ON {
        // Relaxed: ON published it.
        let log = LOG.load(Ordering::Relaxed);
        write(
            log,
            kind,
            size,
            align,
            block.addr() as u64,
            old.addr() as u64,
        );
    }
}

/// Opens the log at the first call. Returns false while that is under way, or without a log.
#[cold]
fn begun() -> bool {
    // Relaxed: it only elects one thread; ON releases that thread's writes.
    let first = STATE.compare_exchange(UNKNOWN, BEGINNING, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err() {
        return false;
    }
    let log = map();
    // Relaxed: released with ON.
    LOG.store(log, Ordering::Relaxed);
    if log.is_null() {
        // Relaxed: no thread reads other data because of it.
        STATE.store(OFF, Ordering::Relaxed);
        return false;
    }
    note_process();
    arena::begin();
    streams::find();
    // SAFETY: functions that stay. If out of memory, children count as the parent.
    unsafe { pthread_atfork(Some(arena_locked), Some(arena_unlocked), Some(forked)) };
    write(log, Kind::Begun, 0, 1, 0, 0);
    if let Some([device, file]) = symbols::allocator() {
        write(log, Kind::Served, 0, 1, file, device);
    }
    // Release: pairs with the acquire in put.
    STATE.store(ON, Ordering::Release);
    true
}

fn note_process() -> u64 {
    // SAFETY: no contract.
    let process = unsafe { getpid() } as u64;
    // Relaxed: only one thread exists here, the first of a program or of a child.
    PROCESS.swap(process, Ordering::Relaxed)
}

extern "C" fn arena_locked() {
    streams::lock(arena::lock);
}

extern "C" fn arena_unlocked() {
    streams::unlock(arena::unlock);
}

extern "C" fn forked() {
    streams::reset(arena::unlock);
    sample::forked();
    let parent = note_process();
    // Relaxed: this is the child's only thread, a copy of the parent's thread that wrote it.
    let log = LOG.load(Ordering::Relaxed);
    write(log, Kind::Forked, 0, 1, 0, parent);
}

/// Maps the log that the environment names. Null if there is none, or if the program runs with
/// raised privileges and must not trust the environment.
fn map() -> *mut Header {
    // SAFETY: no contract.
    if unsafe { getauxval(AT_SECURE) } != 0 {
        return ptr::null_mut();
    }
    // SAFETY: a string with a terminating zero.
    let path = unsafe { getenv(VARIABLE.as_ptr()) };
    if path.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: a path with a terminating zero.
    let file = unsafe { open(path, O_RDWR | O_CLOEXEC) };
    if file < 0 {
        return ptr::null_mut();
    }
    let log = map_file(file);
    // SAFETY: this function owns the descriptor.
    unsafe { close(file) };
    log
}

fn map_file(file: c_int) -> *mut Header {
    let mut words = [0_u64; 2];
    // SAFETY: a buffer of this length.
    let read = unsafe { read(file, words.as_mut_ptr().cast(), size_of_val(&words)) };
    let [magic, capacity] = words;
    if read != 16 || magic != MAGIC {
        return ptr::null_mut();
    }
    let len = HEADER_BYTES + capacity as usize * size_of::<Event>();
    // SAFETY: a new mapping at any address; furlong has made the file as long as its header says.
    let at = unsafe { mmap(ptr::null_mut(), len, PROT_READ_WRITE, MAP_SHARED, file, 0) };
    if at.addr() == usize::MAX {
        ptr::null_mut()
    } else {
        at.cast()
    }
}

/// Removes the log's pages from this process. What was written to them stays.
pub(crate) fn forget_pages() {
    // Relaxed: ON published it.
    let log = LOG.load(Ordering::Relaxed);
    // SAFETY: the mapping of a log, which is never unmapped.
    let header = unsafe { &*log };
    // Relaxed: pages of later events only stay.
    let next = header.next.load(Ordering::Relaxed).min(header.capacity);
    let len = HEADER_BYTES + next as usize * size_of::<Event>();
    // SAFETY: a part of a mapping of a file, whose pages come back when they are used.
    unsafe { madvise(log.cast(), len, MADV_DONTNEED) };
}

fn write(log: *mut Header, kind: Kind, size: usize, align: usize, block: u64, old: u64) {
    // SAFETY: the mapping of a log, which is never unmapped.
    let header = unsafe { &*log };
    // Relaxed: the counter only makes places distinct.
    let place = header.next.fetch_add(1, Ordering::Relaxed);
    if place >= header.capacity {
        return;
    }
    let offset = HEADER_BYTES + place as usize * size_of::<Event>();
    // SAFETY: the header fills one page, and the mapping has room for `capacity` events.
    let event = unsafe { log.byte_add(offset) };
    // SAFETY: aligned, inside the mapping, and made of words for which any value is valid.
    let event = unsafe { &*event.cast::<Event>() };
    // SAFETY: no contract.
    let thread = unsafe { pthread_self() } as u64 >> 4;
    // Relaxed: this and the next four; it is this process's own.
    let process = PROCESS.load(Ordering::Relaxed);
    // A call that asks for more has failed.
    let size = (size as u64).min(SIZE_MAX);
    event.size.store(size | process << 42, Ordering::Relaxed);
    event.block.store(block, Ordering::Relaxed);
    event.old.store(old, Ordering::Relaxed);
    let what = kind as u64 | u64::from(align.trailing_zeros()) << 8 | thread << 16;
    // Release: pairs with the reader of the file, which may run concurrently; it finds no event
    // without the other words.
    event.what.store(what, Ordering::Release);
}
