//! Memory that can be write-protected.
#![expect(unsafe_code, reason = "memory is mapped, handed out and protected")]

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

/// A separate mapping, which stays until the end of the process.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(len: usize) -> Self {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a free address touches no existing memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, prot, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED, "there is memory");
        let start = NonNull::new(start.cast()).expect("it is not at 0");
        Self { start, len }
    }

    /// Puts `value` at the start of a mapping of its own.
    pub(crate) fn with<T>(value: T) -> (Self, &'static T) {
        let mapping = Self::new(size_of::<T>());
        assert!(align_of::<T>() <= 4096, "a mapping begins with a page");
        let place = mapping.start.cast::<T>();
        // SAFETY: the mapping is large enough, aligned, and not used otherwise.
        unsafe { place.write(value) };
        // SAFETY: it was just written, and stays until the end of the process.
        (mapping, unsafe { place.as_ref() })
    }

    /// A mapping, and all of its bytes.
    pub(crate) fn of_bytes(len: usize) -> (Self, &'static mut [MaybeUninit<u8>]) {
        let mapping = Self::new(len);
        let start = mapping.start.cast::<MaybeUninit<u8>>().as_ptr();
        // SAFETY: the mapping stays until the end of the process, and no other code uses its bytes.
        let bytes = unsafe { slice::from_raw_parts_mut(start, len) };
        (mapping, bytes)
    }

    /// Forbids all writes to the mapping, or allows them again.
    pub(crate) fn protect(&self, is_read_only: bool) {
        let write = if is_read_only { 0 } else { libc::PROT_WRITE };
        let start = self.start.as_ptr().cast();
        // SAFETY: the mapping belongs to this value. Removing a right breaks no promise; it stops a
        // thread that writes.
        let failed = unsafe { libc::mprotect(start, self.len, libc::PROT_READ | write) };
        assert_eq!(failed, 0, "it is a whole mapping");
    }

    /// True if an address lies in the mapping.
    pub(crate) fn has<T>(&self, at: &T) -> bool {
        let offset = ptr::from_ref(at)
            .addr()
            .wrapping_sub(self.start.addr().get());
        offset < self.len
    }
}
