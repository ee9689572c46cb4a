//! The number of the current CPU.
#![forbid(unsafe_code)]

/// Kernel interface that returns the number of the current CPU.
///
/// The shared shells of this library call it once per operation, and begin with their data of that
/// CPU. The number need not stay correct: the data of a CPU is under a lock, or atomic, so a caller
/// that has migrated meanwhile works on another CPU's data, correctly. Numbers out of range are
/// taken modulo the count. In a user-space program, any small number suits that differs between
/// threads running at the same time.
pub trait Cpu {
    /// The number of the current CPU, from 0.
    fn number(&self) -> usize;
}

/// Treats all callers as one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneCpu;

impl Cpu for OneCpu {
    #[inline]
    fn number(&self) -> usize {
        0
    }
}
