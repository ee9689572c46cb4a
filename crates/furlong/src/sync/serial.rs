//! Unique numbers for things of one kind.
#![forbid(unsafe_code)]

// Real even under loom: it orders nothing, and a model need not explore it.
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, Ordering};

/// A number that no other call ever returns.
#[cfg(target_has_atomic = "64")]
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: as in `serial`.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number that no other call has returned; after 2^32 calls they repeat.
pub(crate) fn serial() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only the number matters, and it orders nothing.
    NEXT.fetch_add(1, Ordering::Relaxed)
}
