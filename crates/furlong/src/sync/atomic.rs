//! Atomics, fences and the spin hint: `core`'s, or loom's under `cfg(loom)`.
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

/// Does nothing: a compiler fence only orders a thread with its own interrupt handlers, and loom's
/// threads have none.
#[cfg(loom)]
pub fn compiler_fence(_: Ordering) {}
