//! `malloc_trim`, the `mallinfo` family, and other reports about an allocator.

use core::ffi::{c_int, c_void};
use core::fmt::Write;

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

    /// Writes it to standard error.
    pub(crate) fn print(&self) {
        // SAFETY: a buffer of this length.
        unsafe { libc::write(2, self.bytes.as_ptr().cast(), self.len) };
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = self.bytes.get_mut(self.len..).unwrap_or_default();
        for (slot, byte) in room.iter_mut().zip(text.bytes()) {
            *slot = byte;
            self.len += 1;
        }
        Ok(())
    }
}

fn as_text(now: &Statistics, fields: [&str; 3]) -> Text {
    let mut text = Text::new();
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
    text
}

/// `malloc_stats`: prints the numbers on standard error.
pub fn malloc_stats<K: Kind>() {
    as_text(&K::allocator().statistics(), ["", " ", ""]).print();
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
    let rows = text.bytes.get(..text.len).unwrap_or_default();
    let parts: [&[u8]; 3] = [b"<malloc version=\"furlong\">\n", rows, b"</malloc>\n"];
    for part in parts {
        // SAFETY: a buffer of this length, and the caller's file.
        unsafe { libc::fwrite(part.as_ptr().cast(), 1, part.len(), file.cast()) };
    }
    0
}
