//! Opt-in measure: a random place is drawn by count, without a walk over all gaps.

use crate::iova::{GapHalf, Largest, Measure, Need};

/// Counts the granules at which an object may start, for each of `N` sizes from 1 to 2^(N-1)
/// granules; contains the default measure, too.
///
/// [`Random`](crate::iova::Random) then draws a place in O(log n) nodes if size plus guards is one
/// of these sizes. For other sizes each attempt costs as many. A node has `2 N` words more than
/// with the default measure alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<const N: usize> {
    largest: Largest,
    starts: [u64; N],
}

impl<const N: usize> Measure for Counts<N> {
    type Halves = [GapHalf<Self>; 2];

    const NONE: Self = {
        assert!(
            0 < N && N < 64,
            "there is an order, and an address has 64 bits"
        );
        Self {
            largest: Largest::NONE,
            starts: [0; N],
        }
    };
    const UNLINKED: Self::Halves = [GapHalf::UNLINKED; 2];
    const ORDERS: u32 = N as u32;

    #[inline]
    fn of(start: u64, len: u64) -> Self {
        Self {
            largest: Largest::of(start, len),
            starts: core::array::from_fn(|order| len.saturating_sub((1 << order) - 1)),
        }
    }

    #[inline]
    fn join(self, other: Self) -> Self {
        let sum = |order: usize| self.starts[order].wrapping_add(other.starts[order]);
        Self {
            largest: self.largest.join(other.largest),
            starts: core::array::from_fn(sum),
        }
    }

    #[inline]
    fn meets(self, need: &Need) -> bool {
        self.largest.meets(need)
    }

    #[inline]
    fn longest(self) -> u64 {
        self.largest.longest()
    }

    #[inline]
    fn starts(self, order: u32) -> u64 {
        self.starts[order as usize]
    }
}
