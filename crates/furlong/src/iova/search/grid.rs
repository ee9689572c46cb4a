//! Permitted starts of a request, regardless of the extents already reserved.

/// Granules at which a request may start: the multiples of the alignment from which it crosses no
/// boundary. They repeat with a period. So finding the next one, counting those up to a granule and
/// selecting the k-th take a few instructions each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Alignment less 1.
    align_mask: u64,
    /// Period less 1; all ones if there is no boundary.
    period_mask: u64,
    /// The last start in a period.
    last_in_period: u64,
}

impl Grid {
    /// Builds the grid for `len` granules; alignment and boundary are powers of two. `None` if
    /// every place crosses the boundary.
    #[inline(always)]
    pub(crate) fn new(len: u64, align: u64, boundary: Option<u64>) -> Option<Self> {
        debug_assert!(len > 0 && align.is_power_of_two());
        let align_mask = align - 1;
        // A single granule cannot cross a boundary. Neither can data that starts at a multiple of
        // it and is no longer than it.
        let bound = boundary.filter(|boundary| len > 1 && align < *boundary);
        let room = match boundary {
            Some(boundary) => boundary.checked_sub(len)?,
            None => u64::MAX,
        };
        Some(Self {
            align_mask,
            period_mask: bound.map_or(u64::MAX, |boundary| boundary - 1),
            last_in_period: if bound.is_some() { room } else { u64::MAX } & !align_mask,
        })
    }

    /// Extra granules, beyond the request's length, with which a gap always contains a start.
    #[inline(always)]
    pub(crate) fn slack(&self) -> u64 {
        // The longest distance between two neighbouring starts, less one.
        let over_the_edge = self.period_mask.wrapping_sub(self.last_in_period);
        if self.period_mask == u64::MAX {
            self.align_mask
        } else {
            over_the_edge.max(self.align_mask)
        }
    }

    /// The first start at `from` or above.
    #[inline(always)]
    pub(crate) fn first_from(&self, from: u64) -> Option<u64> {
        let period = from & !self.period_mask;
        let up = (from & self.period_mask).checked_add(self.align_mask)? & !self.align_mask;
        if up <= self.last_in_period {
            return Some(period + up);
        }
        // A sole period of 2^64 has no next one.
        period.checked_add(self.period_mask.checked_add(1)?)
    }

    /// The last start at `to` or below.
    #[inline(always)]
    pub(crate) fn last_to(&self, to: u64) -> u64 {
        let down = to & self.period_mask & !self.align_mask;
        (to & !self.period_mask) + down.min(self.last_in_period)
    }

    /// Number of starts at `to` or below.
    pub(super) fn rank(&self, to: u64) -> u128 {
        let in_period = u128::from(self.last_to(to) & self.period_mask) / self.align();
        u128::from(to & !self.period_mask) / self.period() * self.in_period() + in_period + 1
    }

    /// The start with `rank` others below it.
    pub(super) fn select(&self, rank: u128) -> u64 {
        let (periods, rest) = (rank / self.in_period(), rank % self.in_period());
        (periods * self.period() + rest * self.align()) as u64
    }

    fn align(&self) -> u128 {
        u128::from(self.align_mask) + 1
    }

    fn period(&self) -> u128 {
        u128::from(self.period_mask) + 1
    }

    fn in_period(&self) -> u128 {
        u128::from(self.last_in_period) / self.align() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;

    fn allowed(len: u64, align: u64, boundary: Option<u64>, start: u64) -> bool {
        let crosses = |bound: u64| start / bound != (start + len - 1) / bound;
        start.is_multiple_of(align) && !boundary.is_some_and(crosses)
    }

    #[test]
    fn neighbours_ranks_and_places_are_those_of_a_list() {
        for len in 1..9 {
            for align in [1, 2, 4, 8, 16] {
                for boundary in [None, Some(1), Some(2), Some(4), Some(8), Some(16)] {
                    let Some(grid) = Grid::new(len, align, boundary) else {
                        assert!((0..64).all(|at| !allowed(len, align, boundary, at)));
                        continue;
                    };
                    compare(&grid, len, align, boundary);
                }
            }
        }
    }

    fn compare(grid: &Grid, len: u64, align: u64, boundary: Option<u64>) {
        let starts: Vec<u64> = (0..128)
            .filter(|at| allowed(len, align, boundary, *at))
            .collect();
        for at in 0..64 {
            let first = starts.iter().copied().find(|start| *start >= at);
            assert_eq!(grid.first_from(at), first);
            let below: Vec<u64> = starts
                .iter()
                .copied()
                .filter(|start| *start <= at)
                .collect();
            assert_eq!(Some(&grid.last_to(at)), below.last());
            assert_eq!(grid.rank(at), below.len() as u128);
        }
        for (rank, start) in starts.iter().enumerate() {
            assert_eq!(grid.select(rank as u128), *start);
        }
        let ways = starts.windows(2).map(|pair| pair[1] - pair[0] - 1);
        assert_eq!(grid.slack(), ways.max().unwrap_or(0));
    }

    #[test]
    fn the_last_granules_of_64_bits_have_places() {
        let all = Grid::new(1, 1, None).unwrap();
        assert_eq!(all.first_from(u64::MAX), Some(u64::MAX));
        assert_eq!(all.rank(u64::MAX), 1 << 64);
        let pairs = Grid::new(2, 2, None).unwrap();
        assert_eq!(pairs.first_from(u64::MAX), None);
        assert_eq!(pairs.last_to(u64::MAX), u64::MAX - 1);
        let bounded = Grid::new(3, 1, Some(4)).unwrap();
        assert_eq!(bounded.first_from(u64::MAX - 1), None);
        assert_eq!(bounded.last_to(u64::MAX), u64::MAX - 2);
    }
}
