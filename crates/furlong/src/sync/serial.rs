//! Numbers that tell things of one kind apart.
#![forbid(unsafe_code)]

// The real one under loom too: it orders nothing, and a model need not explore it.
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, Ordering};

/// A number that no other call has returned, for as long as anything lasts.
#[cfg(target_has_atomic = "64")]
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Relaxed: as in `serial`.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number that no other call has returned; after 2^32 calls they begin anew.
pub(crate) fn serial() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: the number alone is wanted, and it orders nothing.
    NEXT.fetch_add(1, Ordering::Relaxed)
}
