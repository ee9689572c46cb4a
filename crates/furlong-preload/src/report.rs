//! `malloc_trim`, the `mallinfo` family, and other reports about an allocator.

use core::ffi::{CStr, c_int, c_void};
use core::fmt::Write;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use furlong::malloc::Statistics;

use crate::kind::Kind;

/// `malloc_trim`: 1 if the system got memory back.
pub fn malloc_trim<K: Kind>(_: usize) -> c_int {
    c_int::from(K::allocator().trim())
}

/// `mallopt`: ignores all parameters. 1 is success, as programs expect.
pub fn mallopt<K: Kind>(_: c_int, _: c_int) -> c_int {
    1
}

/// `mallinfo2`: fills the fields that have an equivalent here; the rest are 0.
pub fn mallinfo2<K: Kind>() -> libc::mallinfo2 {
    let now = K::allocator().statistics();
    // Other threads allocate and free meanwhile.
    let small = now.used_bytes.saturating_sub(now.huge_bytes);
    libc::mallinfo2 {
        arena: now.arena_bytes,
        ordblks: 0,
        smblks: 0,
        hblks: now.huge_blocks,
        hblkhd: now.huge_bytes,
        usmblks: 0,
        fsmblks: 0,
        uordblks: small,
        fordblks: now.arena_bytes.saturating_sub(small),
        keepcost: now.dirty_bytes,
    }
}

/// `mallinfo`: as [`mallinfo2`], with each number limited to `c_int::MAX`.
pub fn mallinfo<K: Kind>() -> libc::mallinfo {
    let now = mallinfo2::<K>();
    let small = |number: usize| c_int::try_from(number).unwrap_or(c_int::MAX);
    libc::mallinfo {
        arena: small(now.arena),
        ordblks: small(now.ordblks),
        smblks: small(now.smblks),
        hblks: small(now.hblks),
        hblkhd: small(now.hblkhd),
        usmblks: small(now.usmblks),
        fsmblks: small(now.fsmblks),
        uordblks: small(now.uordblks),
        fordblks: small(now.fordblks),
        keepcost: small(now.keepcost),
    }
}

/// `furlong_malloc_statistics`: writes the numbers, in the order of the header. A caller whose
/// structure has fewer gets the first ones; what a longer one has in addition becomes 0.
///
/// # Safety
/// `now` is null, or `len` bytes may be written there.
pub unsafe fn furlong_malloc_statistics<K: Kind>(now: *mut c_void, len: usize) {
    if now.is_null() {
        return;
    }
    let all = K::allocator().statistics();
    let numbers = [
        all.used_bytes,
        all.used_blocks,
        all.free_bytes,
        all.dirty_bytes,
        all.arena_bytes,
        all.huge_bytes,
        all.huge_blocks,
        all.heaps_running,
        all.heaps_ended,
        all.zones,
    ];
    let common = len.min(size_of_val(&numbers));
    // SAFETY: the caller's promise.
    unsafe { now.write_bytes(0, len) };
    // SAFETY: as above; the copied part is no longer than either.
    unsafe { now.copy_from_nonoverlapping(numbers.as_ptr().cast(), common) };
}

/// A text buffer on the stack.
pub(crate) struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; 1024],
            len: 0,
        }
    }

    /// A text of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut text = Self::new();
        text.put(bytes);
        text
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        for (slot, byte) in room.iter_mut().zip(bytes) {
            *slot = *byte;
            self.len += 1;
        }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Writes it to an open file.
    pub(crate) fn print(&self, file: c_int) {
        // Not `write`, where a thread that was cancelled would end, maybe within `malloc`.
        // SAFETY: a buffer of this length.
        unsafe { libc::syscall(libc::SYS_write, file, self.bytes.as_ptr(), self.len) };
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

fn as_text(now: &Statistics, fields: [&str; 3]) -> Text {
    let mut text = Text::new();
    write_to(&mut text, now, fields);
    text
}

fn write_to(text: &mut Text, now: &Statistics, fields: [&str; 3]) {
    let rows = [
        ("used_bytes", now.used_bytes),
        ("used_blocks", now.used_blocks),
        ("free_bytes", now.free_bytes),
        ("dirty_bytes", now.dirty_bytes),
        ("arena_bytes", now.arena_bytes),
        ("huge_bytes", now.huge_bytes),
        ("heaps_running", now.heaps_running),
        ("heaps_ended", now.heaps_ended),
    ];
    for (name, value) in rows {
        // Text cuts off what does not fit, and never fails.
        let _ = writeln!(text, "{}{name}{}{value}{}", fields[0], fields[1], fields[2]);
    }
}

/// `malloc_stats`: prints the numbers on standard error.
pub fn malloc_stats<K: Kind>() {
    as_text(&K::allocator().statistics(), ["", " ", ""]).print(2);
}

/// Standard error as it was when the library was loaded: a descriptor of its own, since many
/// programs close theirs before the end. -1 without one.
static ERRORS: AtomicI32 = AtomicI32::new(-1);

/// The device and the number of that file.
static FILE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The device and the number of an open file.
fn file_of(descriptor: c_int) -> Option<[u64; 2]> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for the result.
    let failed = unsafe { libc::fstat(descriptor, found.as_mut_ptr()) } != 0;
    // SAFETY: filled if the call succeeded.
    let file = (!failed).then(|| unsafe { found.assume_init() })?;
    Some([file.st_dev, file.st_ino])
}

/// Keeps standard error open for [`at_exit`], at a number that no program counts on; if the process
/// may not have as many files, at its own.
pub(crate) fn keep_errors() {
    const HIGH: c_int = 200;
    // SAFETY: no contract.
    let high = unsafe { libc::fcntl(2, libc::F_DUPFD_CLOEXEC, HIGH) };
    let kept = if high < 0 { 2 } else { high };
    if let Some([device, number]) = file_of(kept) {
        FILE[0].store(device, Ordering::SeqCst);
        FILE[1].store(number, Ordering::SeqCst);
        ERRORS.store(kept, Ordering::SeqCst);
    }
}

/// Prints the numbers of a process that ends, below its number and name.
pub(crate) fn at_exit<K: Kind>() {
    let kept = ERRORS.load(Ordering::SeqCst);
    // A program that closes all descriptors may use the number for a file of its own.
    let file = [
        FILE[0].load(Ordering::SeqCst),
        FILE[1].load(Ordering::SeqCst),
    ];
    if file_of(kept) != Some(file) {
        return;
    }
    let mut name = [0; 17];
    // SAFETY: room for a name of 16 bytes with its end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    // SAFETY: no contract.
    let number = unsafe { libc::getpid() };
    let mut text = Text::new();
    let _ = writeln!(text, "process {number} {}", name.to_str().unwrap_or("?"));
    write_to(&mut text, &K::allocator().statistics(), ["", " ", ""]);
    text.print(kept);
}

/// `malloc_info`: prints the numbers as XML.
///
/// # Safety
/// `file` is an open file of the C library.
pub unsafe fn malloc_info<K: Kind>(options: c_int, file: *mut c_void) -> c_int {
    if options != 0 {
        return libc::EINVAL;
    }
    let text = as_text(
        &K::allocator().statistics(),
        ["  <field name=\"", "\" value=\"", "\"/>"],
    );
    let parts: [&[u8]; 3] = [
        b"<malloc version=\"furlong\">\n",
        text.bytes(),
        b"</malloc>\n",
    ];
    for part in parts {
        // SAFETY: a buffer of this length, and the caller's file.
        unsafe { libc::fwrite(part.as_ptr().cast(), 1, part.len(), file.cast()) };
    }
    0
}
