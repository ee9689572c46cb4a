//! Where the blocks of a simulated machine lie, one behind the other.
#![forbid(unsafe_code)]

use furlong::bounce::SLOT;

/// Hands out device addresses; model and machine each have one, and get the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    next: u64,
    /// Slots by which every block lies beside what was asked for.
    skew: u64,
}

impl Addresses {
    /// Blocks from `start` on, each `skew` slots beside a multiple of its alignment.
    #[must_use]
    pub fn new(start: u64, skew: u64) -> Self {
        Self { next: start, skew }
    }

    /// Where a block of `len` bytes lies; `None` beyond `reach`.
    pub fn place(&mut self, len: usize, align: u64, reach: u64) -> Option<u64> {
        let base = self.next.next_multiple_of(align) + self.skew * SLOT;
        let last = base + len as u64 - 1;
        if last > reach {
            return None;
        }
        // A slot between two blocks, so that neighbours are told apart.
        self.next = last + 1 + SLOT;
        Some(base)
    }
}
