//! Opt-in measure: an aligned search visits only gaps that hold a place.

use crate::iova::{Measure, Need};

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
pub struct Runs<const N: usize>(
    /// Entry 0, for an alignment of one granule, holds the default measure.
    [u64; N],
);

impl<const N: usize> Measure for Runs<N> {
    const NONE: Self = {
        assert!(
            0 < N && N < 64,
            "there is an order, and an address has 64 bits"
        );
        Self([0; N])
    };

    #[inline]
    fn of(start: u64, len: u64) -> Self {
        Self(core::array::from_fn(|order| {
            if order == 0 {
                return u64::of(start, len);
            }
            let past = start.wrapping_neg() & ((1 << order) - 1);
            len.saturating_sub(past)
        }))
    }

    #[inline]
    fn join(self, other: Self) -> Self {
        Self(core::array::from_fn(|order| {
            let (one, two) = (self.0[order], other.0[order]);
            if order == 0 {
                one.join(two)
            } else {
                one.max(two)
            }
        }))
    }

    #[inline]
    fn meets(self, need: &Need) -> bool {
        match self.0.get(need.order as usize) {
            Some(run) if need.order > 0 => *run >= need.run,
            _ => self.0[0].meets(need),
        }
    }

    #[inline]
    fn longest(self) -> u64 {
        self.0[0].longest()
    }
}
