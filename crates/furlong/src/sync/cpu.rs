//! On which CPU a caller is.
#![forbid(unsafe_code)]

/// How a kernel says on which CPU it is.
///
/// The shared shells of this library ask once a call, and begin with what they keep for that CPU.
/// The number only has to be good most of the time: what a CPU has is under a lock, or atomic, so a
/// caller that has been moved meanwhile works on another's, correctly. Numbers beyond those that
/// there are, are taken modulo their count; an operating system's threads can bring any small
/// number that differs between those that run at the same time.
pub trait Cpu {
    /// The number of the current CPU, from 0.
    fn number(&self) -> usize;
}

/// All callers are the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneCpu;

impl Cpu for OneCpu {
    #[inline]
    fn number(&self) -> usize {
        0
    }
}
