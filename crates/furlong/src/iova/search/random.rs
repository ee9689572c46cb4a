//! Uniform random choice among all places.

use super::descent::Found;
use super::policy::{Choose, Position, SearchSpace};
use super::query::{Gap, Query, Zone};
use crate::iova::{Config, Measure, Storage};
use crate::rbtree::{Counters, NodeId, Nodes, Side};

/// Attempts at drawing a place before all places are counted.
pub const ATTEMPTS: u32 = 16;

/// A place drawn uniformly from all that suit the request, for address-space randomisation. The
/// caller's generator supplies the bits: 64 uniform bits a call.
///
/// With the measure [`Counts`](crate::iova::Counts) each attempt takes O(log n) nodes. It draws a
/// granule at which an object of the next smaller power of two may start, and accepts it if the
/// request may start there too. For sizes of a power of two with no alignment above a granule and
/// no guards, the first attempt always succeeds. After [`ATTEMPTS`] rejections, and at once with
/// any other measure, all places in gaps that are large enough are counted and one is chosen: O(n)
/// nodes.
///
/// Pass `&mut Random` to read its counters afterwards.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Counts, Custom, Random, Request, Space};
///
/// let mut state = 0x9e37_79b9_7f4a_7c15_u64; // a kernel takes its own generator
/// let mut random = Random::new(|| {
///     state = state.wrapping_mul(0xd128_5d6f_3b5b_9a55).wrapping_add(1);
///     state ^ state >> 29
/// });
/// let user = Extent::from_last(Iova::new(0x1_0000), Iova::new(0x7fff_ffff_ffff)).unwrap();
/// let mut space = Space::<Custom<Counts<10>>, _>::with_config(user, 4096, Vec::new())?;
/// let grant = space.reserve(&Request::new(1 << 20), &mut random)?;
/// assert_eq!(random.walks(), 0);
/// # let _ = grant;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Random<R> {
    bits: R,
    rejections: u64,
    walks: u64,
}

impl<R: FnMut() -> u64> Random<R> {
    /// A policy that draws with `bits`, 64 uniform bits a call.
    pub const fn new(bits: R) -> Self {
        Self {
            bits,
            rejections: 0,
            walks: 0,
        }
    }

    /// Number of attempts that hit no place.
    #[must_use]
    pub const fn rejections(&self) -> u64 {
        self.rejections
    }

    /// Number of times that all places were counted.
    #[must_use]
    pub const fn walks(&self) -> u64 {
        self.walks
    }

    /// A uniform number less than `bound`.
    fn below(&mut self, bound: u128) -> u128 {
        // Rejection sampling: a modulo would favour small numbers.
        let mask = (bound - 1)
            .checked_ilog2()
            .map_or(0, |log| u128::MAX >> (127 - log));
        loop {
            let low = u128::from((self.bits)());
            let wide = mask > u128::from(u64::MAX);
            let high = if wide { u128::from((self.bits)()) } else { 0 };
            let drawn = (high << 64 | low) & mask;
            if drawn < bound {
                return drawn;
            }
        }
    }
}

impl<R: FnMut() -> u64> Choose for Random<R> {
    fn choose<C: Config, S: Storage<C>>(
        &mut self,
        search: &SearchSpace<'_, C, S>,
    ) -> Option<Position> {
        if C::Measure::ORDERS > 0 {
            let sampler = Sampler::new(search);
            let total = sampler.total();
            if total == 0 {
                return None;
            }
            for _ in 0..ATTEMPTS {
                let drawn = self.below(total);
                if let Some(position) = sampler.draw(drawn) {
                    return Some(position);
                }
                self.rejections += 1;
            }
        }
        self.walk(search)
    }
}

impl<P: Choose> Choose for &mut P {
    fn choose<C: Config, S: Storage<C>>(
        &mut self,
        search: &SearchSpace<'_, C, S>,
    ) -> Option<Position> {
        (**self).choose(search)
    }
}

impl<R: FnMut() -> u64> Random<R> {
    /// Counts all places and chooses one.
    fn walk<C: Config, S: Storage<C>>(
        &mut self,
        search: &SearchSpace<'_, C, S>,
    ) -> Option<Position> {
        self.walks += 1;
        let places = |position: &Position| count(search.query(), position.starts);
        let total: u128 = search.positions().map(|position| places(&position)).sum();
        if total == 0 {
            return None;
        }
        let mut rest = self.below(total);
        let position = search.positions().find(|position| {
            let here = places(position);
            let is_here = rest < here;
            if !is_here {
                rest -= here;
            }
            is_here
        })?;
        let query = search.query();
        let start = query.grid.select(below(query, position.starts.low) + rest);
        Some(Position { start, ..position })
    }
}

/// Places on the grid below `granule`.
fn below(query: &Query, granule: u64) -> u128 {
    let to = granule.checked_sub(1);
    to.map_or(0, |to| query.grid.rank(to))
}

/// Places on the grid in `starts`.
fn count(query: &Query, starts: Zone) -> u128 {
    query.grid.rank(starts.high) - below(query, starts.low)
}

/// The granules of all gaps, in order, at which an object of `1 << order` granules may start. They
/// include every granule at which the request's span may begin.
struct Sampler<'a, C: Config, S: Storage<C>> {
    search: &'a SearchSpace<'a, C, S>,
    order: u32,
    /// For each zone, the numbers of these granules below it and in it.
    shares: [(u128, u128); 2],
}

impl<'a, C: Config, S: Storage<C>> Sampler<'a, C, S> {
    fn new(search: &'a SearchSpace<'a, C, S>) -> Self {
        let query = search.query();
        let mut sampler = Self {
            search,
            order: query.need.span.ilog2().min(C::Measure::ORDERS - 1),
            shares: [(0, 0); 2],
        };
        sampler.shares = query.zones.map(|zone| {
            let Some(zone) = zone.filter(|zone| zone.high >= query.before) else {
                return (0, 0);
            };
            let below = sampler.below(zone.low.saturating_sub(query.before));
            let to = (zone.high - query.before).checked_add(1);
            let up_to = to.map_or_else(|| sampler.all(), |to| sampler.below(to));
            (below, up_to - below)
        });
        sampler
    }

    fn total(&self) -> u128 {
        self.shares.iter().map(|share| share.1).sum()
    }

    /// The place at the `drawn`-th granule of the zones, if the request may start there.
    fn draw(&self, drawn: u128) -> Option<Position> {
        let query = self.search.query();
        let in_first = drawn < self.shares[0].1;
        let (zone, drawn) = if in_first {
            (query.zones[0]?, self.shares[0].0 + drawn)
        } else {
            let rest = drawn - self.shares[0].1;
            (query.zones[1]?, self.shares[1].0 + rest)
        };
        let (at, found) = self.select(drawn)?;
        let start = at.checked_add(query.before)?;
        let starts = query.starts(found.gap, zone)?;
        let is_place =
            starts.low <= start && start <= starts.high && query.grid.last_to(start) == start;
        is_place.then_some(Position {
            start,
            starts,
            found,
        })
    }

    /// Number of the sampler's granules in one gap.
    fn of(&self, gap: Gap) -> u128 {
        let len = u128::from(gap.last - gap.first) + 1;
        (len + 1).saturating_sub(1 << self.order)
    }

    fn of_half(&self, at: NodeId, side: Side) -> u128 {
        u128::from(self.half(at, side).gap.starts(self.order))
    }

    fn half(&self, at: NodeId, side: Side) -> crate::rbtree::Half<crate::iova::Gaps<C::Measure>> {
        self.search.space().tree.nodes().half(at, side)
    }

    /// The gap from `first` to `last`, if both exist and it is not empty.
    fn gap(first: Option<u64>, last: Option<u64>) -> Option<Gap> {
        let (first, last) = (first?, last?);
        (first <= last).then_some(Gap { first, last })
    }

    /// The gaps before the first node and after the last one; the whole space if there is no node.
    fn outer(&self) -> [Option<Gap>; 2] {
        let bounds = self.search.space().bounds;
        let Some(all) = self.search.space().tree.summary() else {
            return [Some(bounds), None];
        };
        [
            Self::gap(Some(bounds.first), all.first.checked_sub(1)),
            Self::gap(all.last.checked_add(1), Some(bounds.last)),
        ]
    }

    fn all(&self) -> u128 {
        let inner = self
            .search
            .space()
            .tree
            .summary()
            .map_or(0, |all| all.gap.starts(self.order));
        let outer = self.outer().into_iter().flatten();
        u128::from(inner) + outer.map(|gap| self.of(gap)).sum::<u128>()
    }

    /// The gap between `at` and its left subtree.
    fn left_gap(&self, child: NodeId, at: NodeId) -> Option<Gap> {
        let first = self.half(child, Side::Right).edge.checked_add(1);
        Self::gap(
            first,
            self.search.space().tree.item(at).start.checked_sub(1),
        )
    }

    /// The gap between `at` and its right subtree.
    fn right_gap(&self, at: NodeId, child: NodeId) -> Option<Gap> {
        let first = self.search.space().tree.item(at).last.checked_add(1);
        Self::gap(first, self.half(child, Side::Left).edge.checked_sub(1))
    }

    /// Number of the sampler's granules less than `to`.
    fn below(&self, to: u64) -> u128 {
        let part = |gap: Option<Gap>| {
            gap.map_or(0, |gap| {
                let before = u128::from(to.saturating_sub(gap.first));
                self.of(gap).min(before)
            })
        };
        let [first, last] = self.outer();
        let mut sum = part(first) + part(last);
        let mut next = self.search.space().tree.root();
        while let Some(at) = next {
            self.search.space().tree.counters().visit();
            let item = self.search.space().tree.item(at);
            let side = Side::right_if(item.start < to);
            let child = self.search.space().tree.nodes().child(at, side);
            match (side, child) {
                (Side::Left, Some(child)) => {
                    sum += part(self.left_gap(child, at));
                }
                (Side::Right, Some(child)) => {
                    sum += self.of_half(at, Side::Left) + part(self.right_gap(at, child));
                }
                (Side::Right, None) => sum += self.of_half(at, Side::Left),
                (Side::Left, None) => {}
            }
            next = child;
        }
        sum
    }

    /// The granule of the sampler with `rank` others below it, and its gap.
    fn select(&self, rank: u128) -> Option<(u64, Found)> {
        let [first, last] = self.outer();
        let mut left = Left(rank);
        let root = self.search.space().tree.root();
        if let Some(found) = left.take(self, first, root.map(|root| (root, Side::Left))) {
            return Some(found);
        }
        let mut at = root?;
        loop {
            self.search.space().tree.counters().visit();
            let nodes = self.search.space().tree.nodes();
            let (below, above) = (nodes.child(at, Side::Left), nodes.child(at, Side::Right));
            let on_left = self.of_half(at, Side::Left);
            if left.0 < on_left {
                let child = below?;
                let inside = self.of_half(child, Side::Left) + self.of_half(child, Side::Right);
                if left.0 >= inside {
                    left.0 -= inside;
                    let edge = Some((child, Side::Right));
                    return left.take(self, self.left_gap(child, at), edge);
                }
                at = child;
                continue;
            }
            left.0 -= on_left;
            let Some(child) = above else {
                return left.take(self, last, root.map(|root| (root, Side::Right)));
            };
            let gap = self.right_gap(at, child);
            if let Some(found) = left.take(self, gap, Some((child, Side::Left))) {
                return Some(found);
            }
            at = child;
        }
    }
}

/// Number of the sampler's granules still to skip.
struct Left(u128);

impl Left {
    /// Stops in `gap` or skips it.
    fn take<C: Config, S: Storage<C>>(
        &mut self,
        sampler: &Sampler<'_, C, S>,
        gap: Option<Gap>,
        edge: Option<(NodeId, Side)>,
    ) -> Option<(u64, Found)> {
        let gap = gap?;
        let here = sampler.of(gap);
        if self.0 < here {
            return Some((gap.first + self.0 as u64, Found { gap, edge }));
        }
        self.0 -= here;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_of_more_than_64_bits_have_all_of_them() {
        let mut ones = Random::new(|| u64::MAX);
        assert_eq!(ones.below(1 << 65), (1 << 65) - 1);
        assert_eq!(ones.below(1 << 64), (1 << 64) - 1);
        let mut halves = [u64::MAX, 0].into_iter().cycle();
        let mut halved = Random::new(|| halves.next().unwrap());
        assert_eq!(halved.below(1 << 65), u128::from(u64::MAX));
    }
}
