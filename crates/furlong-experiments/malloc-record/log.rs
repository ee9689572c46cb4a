//! The log: a file, mapped by every process of the program.

use core::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

#[link(name = "c")]
unsafe extern "C" {
    pub(crate) fn abort() -> !;
    fn getenv(name: *const c_char) -> *const c_char;
    fn getauxval(name: c_ulong) -> c_ulong;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(file: c_int, into: *mut c_void, len: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn mmap(
        at: *mut c_void,
        len: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn getpid() -> c_int;
    fn pthread_self() -> usize;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// The variable with the log's path.
const VARIABLE: &core::ffi::CStr = c"FURLONG_RECORD";

/// "furlrec1", to know a log from any other file.
const MAGIC: u64 = u64::from_le_bytes(*b"furlrec1");

/// Bytes before the first event.
const HEADER_BYTES: usize = 4096;

const AT_SECURE: c_ulong = 23;
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;

/// What the file begins with.
#[repr(C)]
struct Header {
    magic: u64,
    /// Events that there is room for.
    capacity: u64,
    /// The place of the next event; more than there is room for once the log is full.
    next: AtomicU64,
}

/// What was asked. The first word is written last: where it is 0, the event was never finished.
#[repr(C)]
pub(crate) struct Event {
    /// The kind, the power of two of the alignment from bit 8 on, the thread from bit 16 on.
    what: AtomicU64,
    /// Bytes, and the process from bit 42 on.
    size: AtomicU64,
    /// The block that came of it.
    block: AtomicU64,
    /// The block that it was about.
    old: AtomicU64,
}

/// Kinds of events; 0 is none.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Kind {
    /// A program has begun in this process; what was there before is gone.
    Begun = 1,
    /// This process is the child of another, whose number is in `old`.
    Forked = 2,
    /// A block was allocated.
    Allocated = 3,
    /// The same, filled with zeros.
    Zeroed = 4,
    /// A block is being freed.
    Freed = 5,
    /// A block is being resized: from here on it may be anybody's.
    Resizing = 6,
    /// It has become `block`; or it could not, then that is null and the old one still there.
    Resized = 7,
}

const UNKNOWN: u32 = 0;
const BEGINNING: u32 = 1;
const ON: u32 = 2;
const OFF: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
static LOG: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Writes an event down, if there is a log and room in it.
pub(crate) fn put(kind: Kind, size: usize, align: usize, block: *mut c_void, old: *mut c_void) {
    // Acquire: pairs with the release in begin; whoever sees ON sees the log.
    if STATE.load(Ordering::Acquire) == ON || begun() {
        // Relaxed: it came with ON.
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

/// Begins with the first call; false while that is under way, and where there is no log.
#[cold]
fn begun() -> bool {
    // Relaxed: it only picks one thread; what that does is released with ON.
    let first = STATE.compare_exchange(UNKNOWN, BEGINNING, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err() {
        return false;
    }
    let log = map();
    // Relaxed: released with ON.
    LOG.store(log, Ordering::Relaxed);
    if log.is_null() {
        // Relaxed: nobody reads anything because of it.
        STATE.store(OFF, Ordering::Relaxed);
        return false;
    }
    note_process();
    // SAFETY: a function that stays. Where there is no memory for it, children count as the parent.
    unsafe { pthread_atfork(None, None, Some(forked)) };
    write(log, Kind::Begun, 0, 1, 0, 0);
    // Release: pairs with the acquire in put.
    STATE.store(ON, Ordering::Release);
    true
}

fn note_process() -> u64 {
    // SAFETY: no contract.
    let process = unsafe { getpid() } as u64;
    // Relaxed: written where there is one thread, the first of a program or of a child.
    PROCESS.swap(process, Ordering::Relaxed)
}

extern "C" fn forked() {
    let parent = note_process();
    // Relaxed: this is the child's only thread, and the parent's thread had it.
    let log = LOG.load(Ordering::Relaxed);
    write(log, Kind::Forked, 0, 1, 0, parent);
}

/// The log that the environment names; null if there is none, or this program may not trust it.
fn map() -> *mut Header {
    // SAFETY: no contract.
    if unsafe { getauxval(AT_SECURE) } != 0 {
        return ptr::null_mut();
    }
    // SAFETY: a name that ends.
    let path = unsafe { getenv(VARIABLE.as_ptr()) };
    if path.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: a path that ends.
    let file = unsafe { open(path, O_RDWR | O_CLOEXEC) };
    if file < 0 {
        return ptr::null_mut();
    }
    let log = map_file(file);
    // SAFETY: the descriptor is this function's.
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
    // SAFETY: a new mapping anywhere; furlong has made the file as long as it says.
    let at = unsafe { mmap(ptr::null_mut(), len, PROT_READ_WRITE, MAP_SHARED, file, 0) };
    if at.addr() == usize::MAX {
        ptr::null_mut()
    } else {
        at.cast()
    }
}

fn write(log: *mut Header, kind: Kind, size: usize, align: usize, block: u64, old: u64) {
    // SAFETY: the mapping of a log, which stays.
    let header = unsafe { &*log };
    // Relaxed: it only tells places apart.
    let place = header.next.fetch_add(1, Ordering::Relaxed);
    if place >= header.capacity {
        return;
    }
    let offset = HEADER_BYTES + place as usize * size_of::<Event>();
    // SAFETY: the header is as large as one page, and the mapping has room for so many events.
    let event = unsafe { log.byte_add(offset) };
    // SAFETY: aligned, inside the mapping, and made of words that may have any value.
    let event = unsafe { &*event.cast::<Event>() };
    // SAFETY: no contract.
    let thread = unsafe { pthread_self() } as u64 >> 4;
    // Relaxed: this and the next four; it is this process's own.
    let process = PROCESS.load(Ordering::Relaxed);
    event
        .size
        .store(size as u64 | process << 42, Ordering::Relaxed);
    event.block.store(block, Ordering::Relaxed);
    event.old.store(old, Ordering::Relaxed);
    let what = kind as u64 | u64::from(align.trailing_zeros()) << 8 | thread << 16;
    // Release: pairs with whoever reads the file while or after this runs; it finds no event
    // without the rest.
    event.what.store(what, Ordering::Release);
}
