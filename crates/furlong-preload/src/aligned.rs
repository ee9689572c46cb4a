//! `posix_memalign`, `aligned_alloc` and their older relatives.

#[cfg(target_env = "gnu")]
use core::ffi::CStr;
use core::{
    ffi::{c_int, c_void},
    ptr,
};

use crate::kind::Kind;
use crate::system::keeping_errno;

/// `posix_memalign`: `out` is written only on success, and `errno` not at all.
///
/// # Safety
/// `out` may be written.
pub unsafe fn posix_memalign<K: Kind>(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    let block = keeping_errno(|| K::allocator().allocate_aligned(size, align));
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(block.cast()) };
    0
}

/// True if the process's C library refuses alignments that are not a power of two: from 2.38 on.
#[cfg(target_env = "gnu")]
fn is_strict() -> bool {
    // SAFETY: no contract.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: a string that ends with a zero and is never freed.
    let version = unsafe { CStr::from_ptr(version) }.to_bytes();
    strict_from(version)
}

#[cfg(not(target_env = "gnu"))]
fn is_strict() -> bool {
    true
}

/// As [`is_strict`], by the version, such as `2.36`.
fn strict_from(version: &[u8]) -> bool {
    let mut numbers = version
        .split(|byte| *byte == b'.')
        .map(|digits| core::str::from_utf8(digits).ok()?.parse::<u32>().ok());
    let major = numbers.next().flatten().unwrap_or(0);
    let minor = numbers.next().flatten().unwrap_or(0);
    (major, minor) >= (2, 38)
}

/// `aligned_alloc` as in the process's own C library: an alignment that is not a power of two is
/// refused, or rounded up by an older version.
pub fn aligned_alloc<K: Kind>(align: usize, size: usize) -> *mut c_void {
    if align.is_power_of_two() || !is_strict() {
        return memalign::<K>(align, size);
    }
    invalid()
}

/// Refuses an argument: null, and `errno` is `EINVAL`.
pub(crate) fn invalid() -> *mut c_void {
    // SAFETY: it always returns this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(libc::EINVAL) };
    ptr::null_mut()
}

/// `memalign`: rounds an alignment up to a power of two, if there is one.
pub fn memalign<K: Kind>(align: usize, size: usize) -> *mut c_void {
    match align.checked_next_power_of_two() {
        Some(align) => K::allocator().allocate_aligned(size, align).cast(),
        None => invalid(),
    }
}

fn page() -> usize {
    // SAFETY: no contract.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// `valloc`: a block that begins at a page.
pub fn valloc<K: Kind>(size: usize) -> *mut c_void {
    memalign::<K>(page(), size)
}

/// `pvalloc`: as `valloc`, for whole pages.
pub fn pvalloc<K: Kind>(size: usize) -> *mut c_void {
    match size.max(1).checked_next_multiple_of(page()) {
        Some(whole) => memalign::<K>(page(), whole),
        None => K::allocator().refuse().cast(),
    }
}

#[cfg(test)]
mod tests {
    use super::strict_from;

    #[test]
    fn a_c_library_from_2_38_on_is_strict_about_alignments() {
        for version in ["2.17", "2.36", "2.37.9000", "", "x", "2", "1.99"] {
            assert!(!strict_from(version.as_bytes()), "{version}");
        }
        for version in ["2.38", "2.41", "2.40.1", "3.0"] {
            assert!(strict_from(version.as_bytes()), "{version}");
        }
    }
}
