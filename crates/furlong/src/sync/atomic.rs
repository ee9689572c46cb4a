//! Atomics, fences and the spin hint: `core`'s, or loom's under `--cfg loom`.
#![forbid(unsafe_code)]

#[cfg(not(loom))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering,
        compiler_fence, fence,
    },
};

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub use core::sync::atomic::AtomicU64;

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    },
};

/// Nothing: loom's threads are not interrupted by handlers of their own, which is all that a
/// compiler fence orders.
#[cfg(loom)]
pub fn compiler_fence(_: Ordering) {}
