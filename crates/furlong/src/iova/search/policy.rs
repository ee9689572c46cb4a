//! Policies: each chooses one of the places that suit a request.
//!
//! Each policy keeps its promise for any size and window, and for an alignment equal to the size of
//! the request plus the guard after it. With other alignments, and with boundaries, a large enough
//! gap may hold no place. A search may then have to inspect a gap only to reject it:
//!
//! - With a measure that knows the alignment ([`Runs`](crate::iova::Runs)) or the boundary
//!   ([`Boundary`](crate::iova::Boundary)) no gap is inspected in vain, and the choice is exact.
//! - Otherwise [`Lowest`], [`Highest`] and [`Near`] inspect [`LOOKS`] such gaps. After those they
//!   prefer the next gap that certainly holds a place to a nearer one that may. If no such gap
//!   exists, they continue gap by gap in O(1) each. For an alignment they inspect all gaps. For a
//!   boundary they give up ([`ReserveError::GaveUp`](crate::iova::ReserveError::GaveUp)) after as
//!   many nodes as [`PATIENCE`] searches may visit.
//!
//! [`Best`] and [`Random`](crate::iova::Random) inspect every gap that is large enough, and never
//! give up. If a place exists, no policy refuses without reporting that it gave up.
//!
//! An exact choice for every alignment and boundary would cost memory: a subtree's summary takes a
//! word for each, and a node has room for one.

use core::cell::Cell;

use super::descent::{Found, View};
use super::query::{Need, Query, Zone};
use crate::addr::{Address, Iova};
use crate::iova::{Config, Space, Storage};
use crate::rbtree::Side;

/// Number of large enough gaps without a permitted start that a search inspects before it looks for
/// a gap that certainly has one.
pub const LOOKS: u32 = 32;

/// Upper limit on the nodes that a request may visit for a boundary unknown to the measure, in
/// units of one search.
pub const PATIENCE: u64 = 64;

/// A place for a request.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub(crate) start: u64,
    /// Range of starts in the same gap and zone, on the grid or not.
    pub(super) starts: Zone,
    pub(crate) found: Found,
}

/// The input of a policy: a space and a query.
#[derive(Clone, Debug)]
pub struct SearchSpace<'a, C: Config, S: Storage<C>> {
    space: &'a Space<C, S>,
    query: &'a Query,
    /// Nodes visited in moving from gap to gap.
    steps: Cell<u64>,
    gave_up: Cell<bool>,
}

mod sealed {
    pub trait Choose {
        /// The place that the policy chooses, or `None`.
        fn choose<C, S>(
            &mut self,
            search: &super::SearchSpace<'_, C, S>,
        ) -> Option<super::Position>
        where
            C: super::Config,
            S: super::Storage<C>;
    }
}
pub(crate) use sealed::Choose;

/// Chooses one of the places that suit a request: [`Lowest`], [`Highest`], [`Near`], [`Best`] or
/// [`Random`](crate::iova::Random).
pub trait Policy: Choose {}
impl<P: Choose> Policy for P {}

/// The policies that only name the end to search from: [`Lowest`] and [`Highest`]. With these a
/// shared domain hands out cached extents before it searches. The other policies promise a
/// particular place, or an unpredictable one.
pub trait Sided: Policy {}
impl Sided for Lowest {}
impl Sided for Highest {}

/// The lowest place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lowest;

/// The highest place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Highest;

/// The place whose start is nearest to the hint, the lower one of two. Distances are counted in
/// granules, from the granule that contains the hint.
///
/// It costs a search on each side of the hint; the second one ends where nothing is nearer. If the
/// search on one side gives up, the result of the other one is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near(pub Iova);

/// The lowest place in the smallest gap.
///
/// It inspects every gap that is large enough, O(n) nodes in all, and stops at one that fits
/// exactly. It never gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best;

impl Choose for Lowest {
    #[inline(always)]
    fn choose<C, S>(&mut self, search: &SearchSpace<'_, C, S>) -> Option<Position>
    where
        C: Config,
        S: Storage<C>,
    {
        let zones = search.query().zones.iter().flatten();
        zones
            .copied()
            .find_map(|zone| search.nearest(Side::Left, zone))
    }
}

impl Choose for Highest {
    #[inline(always)]
    fn choose<C, S>(&mut self, search: &SearchSpace<'_, C, S>) -> Option<Position>
    where
        C: Config,
        S: Storage<C>,
    {
        let zones = search.query().zones.iter().rev().flatten();
        zones
            .copied()
            .find_map(|zone| search.nearest(Side::Right, zone))
    }
}

impl Choose for Near {
    fn choose<C, S>(&mut self, search: &SearchSpace<'_, C, S>) -> Option<Position>
    where
        C: Config,
        S: Storage<C>,
    {
        let hint = self.0.raw() >> search.space().shift;
        let mut best = None::<Position>;
        for zone in search.query().zones.iter().flatten() {
            let above = zone.high.checked_sub(zone.low.max(hint)).map(|_| Zone {
                low: zone.low.max(hint),
                high: zone.high,
            });
            let found = above.and_then(|above| search.nearest(Side::Left, above));
            best = nearer(hint, best, found);
            let Some(below) = hint.checked_sub(1) else {
                continue;
            };
            let far = best.map_or(u64::MAX, |position| position.start.abs_diff(hint));
            let low = zone.low.max(hint.saturating_sub(far));
            let high = zone.high.min(below);
            if low <= high {
                let found = search.nearest(Side::Right, Zone { low, high });
                best = nearer(hint, best, found);
            }
        }
        best
    }
}

/// The place whose start is nearer to `hint`, the lower of two.
fn nearer(hint: u64, one: Option<Position>, other: Option<Position>) -> Option<Position> {
    let key = |position: &Position| (position.start.abs_diff(hint), position.start);
    one.into_iter().chain(other).min_by_key(key)
}

impl Choose for Best {
    fn choose<C, S>(&mut self, search: &SearchSpace<'_, C, S>) -> Option<Position>
    where
        C: Config,
        S: Storage<C>,
    {
        let mut best = None::<Position>;
        for position in search.positions() {
            let len = position.found.gap.len();
            if best.is_none_or(|best| len < best.found.gap.len()) {
                best = Some(position);
            }
            if len == search.query().need.span {
                break;
            }
        }
        best
    }
}

impl<'a, C: Config, S: Storage<C>> SearchSpace<'a, C, S> {
    #[inline(always)]
    pub(crate) fn new(space: &'a Space<C, S>, query: &'a Query) -> Self {
        Self {
            space,
            query,
            steps: Cell::new(0),
            gave_up: Cell::new(false),
        }
    }

    #[inline(always)]
    pub(crate) fn space(&self) -> &'a Space<C, S> {
        self.space
    }

    #[inline(always)]
    pub(crate) fn query(&self) -> &'a Query {
        self.query
    }

    /// True if some possible places were not inspected.
    #[inline(always)]
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    fn view(&self, near: Side) -> View<'_, C, S> {
        View {
            space: self.space,
            near,
        }
    }

    /// The nearest place in `zone` from the side `near`.
    #[inline(always)]
    fn nearest(&self, near: Side, zone: Zone) -> Option<Position> {
        match self.look(near, zone, &self.query.need)? {
            Look::Place(position) => Some(position),
            Look::On(found, rest) => self.look_on(near, found, rest),
        }
    }

    /// Continues the same search after `found`, which holds no place.
    #[cold]
    fn look_on(&self, near: Side, found: Found, zone: Zone) -> Option<Position> {
        let (mut found, mut rest) = (found, zone);
        for _ in 1..LOOKS {
            match self.look_behind(near, &found, rest)? {
                Look::Place(position) => return Some(position),
                Look::On(further, zone) => (found, rest) = (further, zone),
            }
        }
        if let Some(position) = self.surely(near, rest) {
            return Some(position);
        }
        while !self.is_out_of_patience() {
            match self.look_behind(near, &found, rest)? {
                Look::Place(position) => return Some(position),
                Look::On(further, zone) => (found, rest) = (further, zone),
            }
        }
        self.gave_up.set(true);
        None
    }

    /// The nearest place in a gap that holds one at whatever granule it begins.
    fn surely(&self, near: Side, zone: Zone) -> Option<Position> {
        let sure = self.query.sure()?;
        let mut from = zone;
        loop {
            match self.look(near, from, &sure)? {
                Look::Place(position) => return Some(position),
                // The zone cuts this gap.
                Look::On(_, rest) => from = rest,
            }
        }
    }

    /// True if the request has visited more nodes than its boundary permits. The searches
    /// themselves are few, and are charged a quarter of the limit.
    fn is_out_of_patience(&self) -> bool {
        let a_search = 4 * u64::from((self.space.len() | 1).ilog2()) + 16;
        let is_bounded = self.query.need.boundary.is_some();
        is_bounded && self.steps.get() >= (PATIENCE - PATIENCE / 4) * a_search
    }

    /// Inspects the nearest gap that meets `need`; `None` if there is none in `zone`.
    #[inline(always)]
    fn look(&self, near: Side, zone: Zone, need: &Need) -> Option<Look> {
        let reach = self.query.reach();
        // Start from the first grid position: a gap that ends before it holds no place and is
        // skipped.
        let (from, beyond) = match near {
            Side::Left => (self.query.grid.first_from(zone.low)?, reach),
            // From above, a grant begins at its last granule, and the rest of it lies below.
            Side::Right => {
                let start = self.query.grid.last_to(zone.high);
                let last = start.saturating_add(self.query.len() - 1);
                (!last, self.query.len() - 1 + self.query.before)
            }
        };
        let found = self.view(near).first(from, need, beyond)?;
        self.judge(near, found, zone)
    }

    /// Inspects the next gap after `found` that meets the need; `None` if there is none in `zone`.
    fn look_behind(&self, near: Side, found: &Found, zone: Zone) -> Option<Look> {
        let mut steps = self.steps.get();
        let found = self.view(near).next(found, &self.query.need, &mut steps);
        self.steps.set(steps);
        self.judge(near, found?, zone)
    }

    /// Looks for a place in a gap; `None` if there is none and the zone ends there.
    #[inline(always)]
    fn judge(&self, near: Side, found: Found, zone: Zone) -> Option<Look> {
        let gap = found.gap;
        if let Some(starts) = self.query.starts(gap, zone) {
            let start = match near {
                Side::Left => self.query.grid.first_from(starts.low),
                Side::Right => Some(self.query.grid.last_to(starts.high)),
            };
            let is_in = |start: &u64| (starts.low..=starts.high).contains(start);
            if let Some(start) = start.filter(is_in) {
                return Some(Look::Place(Position {
                    start,
                    starts,
                    found,
                }));
            }
        }
        let rest = match near {
            Side::Left => Zone {
                low: gap.last.checked_add(1)?,
                high: zone.high,
            },
            Side::Right => Zone {
                low: zone.low,
                high: gap.first.checked_sub(self.query.len())?,
            },
        };
        (rest.low <= rest.high).then_some(Look::On(found, rest))
    }

    /// Every gap that holds a place, in ascending order, each with its lowest place.
    pub(super) fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        let zones = self.query.zones.iter().flatten();
        zones.flat_map(move |zone| {
            let mut look = self.look(Side::Left, *zone, &self.query.need);
            core::iter::from_fn(move || {
                loop {
                    let (found, position) = match look? {
                        Look::Place(position) => (position.found, Some(position)),
                        Look::On(found, _) => (found, None),
                    };
                    look = self.look_behind(Side::Left, &found, *zone);
                    if position.is_some() {
                        return position;
                    }
                }
            })
        })
    }
}

/// Result of inspecting a gap.
#[derive(Clone, Copy)]
enum Look {
    /// The gap holds this place.
    Place(Position),
    /// The gap holds no place; the rest of the zone lies after it.
    On(Found, Zone),
}
