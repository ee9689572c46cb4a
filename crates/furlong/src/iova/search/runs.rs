//! Opt-in measure: an aligned search visits only gaps that hold a place.

use crate::iova::{GapHalf, Largest, Measure, Need};

/// For each of `N` alignments, from 1 to 2^(N-1) granules, the longest free run that starts at a
/// multiple of it.
///
/// A search with one of these alignments, no guard before it and no boundary then visits O(log n)
/// nodes for any size. It finds the lowest or the highest place exactly. The default measure does
/// so only if the size equals the alignment. A node has `2 (N - 1)` words more than with the
/// default measure.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Custom, Lowest, Request, Runs, Space, SpaceNode};
///
/// /// Alignments of 4 KiB to 2 MiB without a scan.
/// type HugePages = Custom<Runs<10>>;
///
/// let low = Extent::from_last(Iova::new(0), Iova::new(0xffff_ffff)).unwrap();
/// let nodes: Vec<SpaceNode<HugePages>> = Vec::new();
/// let mut space = Space::<HugePages, _>::with_config(low, 4096, nodes)?;
/// let grant = space.reserve(&Request::new(4096).align(1 << 21), Lowest)?;
/// # let _ = grant;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs<const N: usize> {
    /// By log2 of the alignment. The first one is the longest gap.
    runs: [u64; N],
    /// As in [`Largest`].
    orders: u32,
}

impl<const N: usize> Runs<N> {
    #[inline]
    const fn largest(self) -> Largest {
        let Self { runs, orders } = self;
        let len = runs[0];
        Largest { len, orders }
    }
}

impl<const N: usize> Measure for Runs<N> {
    type Halves = [GapHalf<Self>; 2];

    const NONE: Self = {
        assert!(
            0 < N && N < 64,
            "there is an order, and an address has 64 bits"
        );
        Self {
            runs: [0; N],
            orders: 0,
        }
    };
    const UNLINKED: Self::Halves = [GapHalf::UNLINKED; 2];

    #[inline]
    fn of(start: u64, len: u64) -> Self {
        let past = |order: usize| start.wrapping_neg() & ((1 << order) - 1);
        Self {
            runs: core::array::from_fn(|order| len.saturating_sub(past(order))),
            orders: Largest::of(start, len).orders,
        }
    }

    #[inline]
    fn join(self, other: Self) -> Self {
        let longer = |order: usize| u64::max(self.runs[order], other.runs[order]);
        Self {
            runs: core::array::from_fn(longer),
            orders: self.orders.max(other.orders),
        }
    }

    #[inline]
    fn meets(self, need: &Need) -> bool {
        let order = need.order as usize;
        if 0 < order && order < N {
            return self.runs[order] >= need.run;
        }
        self.largest().meets(need)
    }

    #[inline]
    fn longest(self) -> u64 {
        self.runs[0]
    }
}
