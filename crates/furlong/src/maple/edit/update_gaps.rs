//! Updates of the noted largest gaps after a change, as far up as they differ.

use crate::maple::{Config, Cut, Spot, Write};

/// The free space around a cut.
#[derive(Clone, Copy, Debug)]
pub(super) enum Free {
    /// There was one gap of this length.
    Before(u64),
    /// There is one gap of this length now.
    Now(u64),
    Unknown,
}

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// The noted largest gap of a leaf.
    #[inline]
    pub(super) fn gap_of(&self, spot: &Spot<'a, C::Geometry>) -> u64 {
        match spot.height.checked_sub(1) {
            Some(depth) => spot.step(depth).node.gap(spot.step(depth).at),
            None => self.tree.largest_gap(),
        }
    }

    /// The free space around a cut: one gap before an insertion, one after an erasure.
    #[inline]
    pub(super) fn free_around(&self, spot: &Spot<'a, C::Geometry>, cut: &Cut) -> Free {
        let (inserts, erases) = (cut.from == cut.to, cut.len() == 0);
        if !inserts && !erases {
            return Free::Unknown;
        }
        let leaf = spot.leaf();
        let before = leaf.entry_before(cut.from);
        let start = before.and_then(|(_, slot)| slot.last.checked_add(1));
        let next = match leaf.entry_from(cut.to) {
            Some((_, slot)) => slot.start.checked_sub(1),
            None => (spot.max < u64::MAX).then_some(spot.max),
        };
        let (Some(start), Some(last)) = (start, next) else {
            return Free::Unknown;
        };
        let gap = (last.wrapping_sub(start)).wrapping_add(1);
        if inserts {
            Free::Before(gap)
        } else {
            Free::Now(gap)
        }
    }

    /// Recomputes the largest gap of a leaf and notes it, up to the node where nothing changes.
    #[inline]
    pub(super) fn update_gaps(&self, spot: &Spot<'a, C::Geometry>) {
        let gap = spot.leaf().largest_gap(spot.max);
        self.climb(spot, spot.height, gap);
    }

    /// Notes a gap of a leaf that is new or has grown.
    #[inline(always)]
    pub(super) fn widen(&self, spot: &Spot<'a, C::Geometry>, gap: u64) {
        if gap > self.gap_of(spot) {
            self.climb(spot, spot.height, gap);
        }
    }

    /// Notes the largest gap of the node at `depth` on the path, and of those above it.
    #[inline]
    pub(crate) fn climb(&self, spot: &Spot<'a, C::Geometry>, depth: usize, gap: u64) {
        let mut gap = gap;
        for depth in (0..depth).rev() {
            let step = spot.step(depth);
            if !step.node.set_gap(step.at, gap) {
                return;
            }
            gap = step.node.largest_gap();
        }
        self.tree.set_largest_gap(gap);
    }
}
