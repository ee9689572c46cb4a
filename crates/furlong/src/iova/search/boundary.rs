//! Opt-in measure: a search that must not cross a boundary visits only gaps that hold a place.

use crate::iova::{GapHalf, Largest, Measure, Need};

/// Measure for a boundary of `1 << ORDER` granules, declared when the space is made. All other
/// requests use the inner measure `M`, which may declare another boundary.
///
/// A search for any size that may not cross the boundary then visits O(log n) nodes, and finds the
/// lowest or the highest place exactly. Its guard may have at most one granule on each side, and
/// its alignment at most one granule. Each declared boundary adds six words to a node: one boundary
/// makes a node fill two cache lines instead of one.
///
/// Let `h` be the highest bit in which the first and the last granule of a gap differ. If `h <
/// ORDER`, nothing in the gap crosses the boundary. Otherwise the gap contains a multiple of 2^h,
/// which is also a multiple of the boundary. Data that crosses no boundary lies on one side of it,
/// so the longer of the two sides represents the gap.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Boundary, Custom, Guard, Lowest, Request, Space, SpaceNode};
///
/// /// A device whose transfers may not cross 64 KiB, with granules of 4 KiB.
/// type Disk = Custom<Boundary<4>>;
///
/// let low = Extent::from_last(Iova::new(0), Iova::new(0xffff_ffff)).unwrap();
/// let nodes: Vec<SpaceNode<Disk>> = Vec::new();
/// let mut space = Space::<Disk, _>::with_config(low, 4096, nodes)?;
/// let request = Request::new(9000).boundary(1 << 16).guard(Guard::ONE);
/// let grant = space.reserve(&request, Lowest)?;
/// # let _ = grant;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary<const ORDER: u32, M = Largest> {
    all: M,
    /// The longest gap that contains no multiple of the boundary after its first granule.
    within: u64,
    /// In the other gaps, the longest part before that multiple of 2^h and the longest from it on.
    below: u64,
    above: u64,
}

impl<const ORDER: u32, M: Measure> Measure for Boundary<ORDER, M> {
    type Halves = [GapHalf<Self>; 2];

    const NONE: Self = {
        assert!(ORDER < u64::BITS, "an address has 64 bits");
        Self {
            all: M::NONE,
            within: 0,
            below: 0,
            above: 0,
        }
    };
    const UNLINKED: Self::Halves = [GapHalf::UNLINKED; 2];
    const ORDERS: u32 = M::ORDERS;

    #[inline]
    fn of(start: u64, len: u64) -> Self {
        let all = M::of(start, len);
        let last = start.wrapping_add(len.wrapping_sub(1));
        let differ = start ^ last;
        if len == 0 || differ >> ORDER == 0 {
            return Self {
                all,
                within: len,
                ..Self::NONE
            };
        }
        let multiple = last & (u64::MAX << differ.ilog2());
        Self {
            all,
            within: 0,
            below: multiple.wrapping_sub(start),
            above: (last - multiple).saturating_add(1),
        }
    }

    #[inline]
    fn join(self, other: Self) -> Self {
        Self {
            all: self.all.join(other.all),
            within: self.within.max(other.within),
            below: self.below.max(other.below),
            above: self.above.max(other.above),
        }
    }

    #[inline]
    fn meets(self, need: &Need) -> bool {
        let (before, after) = (need.span - need.run, need.run - need.len);
        // Each side of the multiple has at least one granule: enough for a guard of one.
        let is_known = need.boundary == Some(ORDER) && need.order == 0 && before.max(after) <= 1;
        if !is_known {
            return self.all.meets(need);
        }
        self.within >= need.span
            || self.below >= need.len + before
            || self.above >= need.len + after
    }

    #[inline]
    fn longest(self) -> u64 {
        self.all.longest()
    }

    #[inline]
    fn starts(self, order: u32) -> u64 {
        self.all.starts(order)
    }
}
