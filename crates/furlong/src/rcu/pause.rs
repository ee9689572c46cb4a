//! What to do while a barrier waits.
#![forbid(unsafe_code)]

use core::ops::ControlFlow;

/// Spins for a moment and goes on waiting. For `no_std`, where readers are known to be short.
pub fn spin() -> ControlFlow<()> {
    crate::sync::spin_loop();
    ControlFlow::Continue(())
}

/// Gives the CPU to another thread and goes on waiting.
#[cfg(feature = "std")]
pub fn yield_now() -> ControlFlow<()> {
    std::thread::yield_now();
    ControlFlow::Continue(())
}
