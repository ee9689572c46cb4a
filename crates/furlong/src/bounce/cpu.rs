//! How a pool learns on which CPU it runs.
#![forbid(unsafe_code)]

/// How a kernel says on which CPU it is.
///
/// The number is asked for once a map and chooses the area that is asked first. It may be stale by
/// then: every area is asked before a map is refused, whichever comes first. Numbers beyond the
/// areas are taken modulo their count.
pub trait Cpu: Send + Sync {
    /// The number of the current CPU, from 0.
    fn number(&self) -> usize;
}

/// All callers begin with the same area.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneCpu;

impl Cpu for OneCpu {
    #[inline]
    fn number(&self) -> usize {
        0
    }
}
