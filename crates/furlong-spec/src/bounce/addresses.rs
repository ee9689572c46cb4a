//! Device addresses of a simulated machine's blocks, in ascending order.
#![forbid(unsafe_code)]

use furlong::bounce::SLOT;

/// Allocates device addresses. Model and machine each have a copy and get the same addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    next: u64,
    /// Offset of every block from its alignment, in slots.
    skew: u64,
}

impl Addresses {
    /// Blocks from `start` on, each `skew` slots above a multiple of its alignment.
    #[must_use]
    pub fn new(start: u64, skew: u64) -> Self {
        Self { next: start, skew }
    }

    /// The address of a new block of `len` bytes; `None` if it would end above `reach`.
    pub fn place(&mut self, len: usize, align: u64, reach: u64) -> Option<u64> {
        let base = self.next.next_multiple_of(align) + self.skew * SLOT;
        let last = base + len as u64 - 1;
        if last > reach {
            return None;
        }
        // One unused slot between blocks, so that an overrun is not a hit in the neighbour.
        self.next = last + 1 + SLOT;
        Some(base)
    }
}
