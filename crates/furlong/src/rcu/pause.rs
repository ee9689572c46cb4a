//! Functions to call while a barrier waits.
#![forbid(unsafe_code)]

use core::ops::ControlFlow;

/// Spins for a moment and continues to wait. For `no_std` with readers known to be short.
pub fn spin() -> ControlFlow<()> {
    crate::sync::spin_loop();
    ControlFlow::Continue(())
}

/// Yields the CPU to another thread and continues to wait.
#[cfg(feature = "std")]
pub fn yield_now() -> ControlFlow<()> {
    std::thread::yield_now();
    ControlFlow::Continue(())
}
