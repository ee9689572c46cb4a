//! Seam: which of the places that suit a request it gets.
//!
//! What each promises about the choice holds for size and window always, and for an alignment of
//! just as many granules as the request has with its guard behind. Other alignments, and
//! boundaries, leave places out of a gap that is large enough, so that a gap may have to be looked
//! at to be refused:
//!
//! - with a measure that knows the alignment ([`Runs`](super::Runs)) or the boundary
//!   ([`Boundary`](super::Boundary)) no gap is looked at in vain, and the choice is exact;
//! - else [`Lowest`], [`Highest`] and [`Near`] look at [`LOOKS`] such gaps, and then prefer the
//!   next gap that surely holds a place to a nearer one that may. Only where there is none they go
//!   on looking, one gap after the other in O(1) each. For an alignment they look at all there are.
//!   For a boundary they give up ([`ReserveError::GaveUp`](super::ReserveError::GaveUp)) when they
//!   have seen so many nodes as [`PATIENCE`] searches may.
//!
//! [`Best`] and [`Random`](super::Random) look at every gap that is large enough, and never give
//! up. No policy refuses without saying so where there is a place.
//!
//! More cannot be had for nothing: which boundaries and alignments a subtree has places for takes a
//! word a boundary or an alignment, and a node has room for one.
#![forbid(unsafe_code)]

use core::cell::Cell;

use super::query::{Need, Query, Zone};
use super::search::{Found, View};
use super::{Config, Space, Storage};
use crate::addr::{Address, Iova};
use crate::rbtree::Side;

/// How many gaps that are large enough, but hold no place on the grid, a search looks at before it
/// asks for one that surely does.
pub const LOOKS: u32 = 32;

/// How many searches' worth of nodes a request looks at, at most, for a boundary that the measure
/// does not know.
pub const PATIENCE: u64 = 64;

/// A place for a request.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub(super) start: u64,
    /// From the first to the last start in the same gap and zone, on the grid or not.
    pub(super) starts: Zone,
    pub(super) found: Found,
}

/// What a policy chooses from.
#[derive(Clone, Debug)]
pub struct Field<'a, C: Config, S: Storage<C>> {
    space: &'a Space<C, S>,
    query: &'a Query,
    /// Nodes seen in looking from gap to gap.
    steps: Cell<u64>,
    gave_up: Cell<bool>,
}

mod sealed {
    pub trait Choose {
        /// The place that the policy chooses, if there is any.
        fn choose<C, S>(&mut self, field: &super::Field<'_, C, S>) -> Option<super::Spot>
        where
            C: super::Config,
            S: super::Storage<C>;
    }
}
pub(super) use sealed::Choose;

/// Which of the places that suit a request it gets: [`Lowest`], [`Highest`], [`Near`], [`Best`] or
/// [`Random`](super::Random).
pub trait Policy: Choose {}
impl<P: Choose> Policy for P {}

/// The policies that say from which end to look, and no more: [`Lowest`] and [`Highest`]. A shared
/// domain takes these where it hands out what it has at hand before it looks at all. The others
/// promise a place, or one that cannot be foretold.
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
/// granules, from the one that has the hint.
///
/// It costs a search on each side of the hint; the second one ends where nothing is nearer. Where
/// the search on one side gives up, what the other one finds is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near(pub Iova);

/// The lowest place in the smallest gap.
///
/// It looks at every gap that is large enough, O(n) nodes in all, and stops at one that fits
/// exactly. It gives up at nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best;

impl Choose for Lowest {
    #[inline(always)]
    fn choose<C, S>(&mut self, field: &Field<'_, C, S>) -> Option<Spot>
    where
        C: Config,
        S: Storage<C>,
    {
        let zones = field.query().zones.iter().flatten();
        zones
            .copied()
            .find_map(|zone| field.nearest(Side::Left, zone))
    }
}

impl Choose for Highest {
    #[inline(always)]
    fn choose<C, S>(&mut self, field: &Field<'_, C, S>) -> Option<Spot>
    where
        C: Config,
        S: Storage<C>,
    {
        let zones = field.query().zones.iter().rev().flatten();
        zones
            .copied()
            .find_map(|zone| field.nearest(Side::Right, zone))
    }
}

impl Choose for Near {
    fn choose<C, S>(&mut self, field: &Field<'_, C, S>) -> Option<Spot>
    where
        C: Config,
        S: Storage<C>,
    {
        let hint = self.0.raw() >> field.space().shift;
        let mut best = None::<Spot>;
        for zone in field.query().zones.iter().flatten() {
            let above = zone.high.checked_sub(zone.low.max(hint)).map(|_| Zone {
                low: zone.low.max(hint),
                high: zone.high,
            });
            let found = above.and_then(|above| field.nearest(Side::Left, above));
            best = nearer(hint, best, found);
            let Some(below) = hint.checked_sub(1) else {
                continue;
            };
            let far = best.map_or(u64::MAX, |spot| spot.start.abs_diff(hint));
            let low = zone.low.max(hint.saturating_sub(far));
            let high = zone.high.min(below);
            if low <= high {
                let found = field.nearest(Side::Right, Zone { low, high });
                best = nearer(hint, best, found);
            }
        }
        best
    }
}

/// The one whose start is nearer to `hint`, the lower of two.
fn nearer(hint: u64, one: Option<Spot>, other: Option<Spot>) -> Option<Spot> {
    let key = |spot: &Spot| (spot.start.abs_diff(hint), spot.start);
    one.into_iter().chain(other).min_by_key(key)
}

impl Choose for Best {
    fn choose<C, S>(&mut self, field: &Field<'_, C, S>) -> Option<Spot>
    where
        C: Config,
        S: Storage<C>,
    {
        let mut best = None::<Spot>;
        for spot in field.spots() {
            let len = spot.found.gap.len();
            if best.is_none_or(|best| len < best.found.gap.len()) {
                best = Some(spot);
            }
            if len == field.query().need.span {
                break;
            }
        }
        best
    }
}

impl<'a, C: Config, S: Storage<C>> Field<'a, C, S> {
    #[inline(always)]
    pub(super) fn new(space: &'a Space<C, S>, query: &'a Query) -> Self {
        Self {
            space,
            query,
            steps: Cell::new(0),
            gave_up: Cell::new(false),
        }
    }

    #[inline(always)]
    pub(super) fn space(&self) -> &'a Space<C, S> {
        self.space
    }

    #[inline(always)]
    pub(super) fn query(&self) -> &'a Query {
        self.query
    }

    /// Whether there may be places that were not looked at.
    #[inline(always)]
    pub(super) fn gave_up(&self) -> bool {
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
    fn nearest(&self, near: Side, zone: Zone) -> Option<Spot> {
        match self.look(near, zone, &self.query.need)? {
            Look::Place(spot) => Some(spot),
            Look::On(found, rest) => self.look_on(near, found, rest),
        }
    }

    /// The same behind `found`, which holds no place.
    #[cold]
    fn look_on(&self, near: Side, found: Found, zone: Zone) -> Option<Spot> {
        let (mut found, mut rest) = (found, zone);
        for _ in 1..LOOKS {
            match self.look_behind(near, &found, rest)? {
                Look::Place(spot) => return Some(spot),
                Look::On(further, zone) => (found, rest) = (further, zone),
            }
        }
        if let Some(spot) = self.surely(near, rest) {
            return Some(spot);
        }
        while !self.is_out_of_patience() {
            match self.look_behind(near, &found, rest)? {
                Look::Place(spot) => return Some(spot),
                Look::On(further, zone) => (found, rest) = (further, zone),
            }
        }
        self.gave_up.set(true);
        None
    }

    /// The nearest place in a gap that holds one wherever it begins.
    fn surely(&self, near: Side, zone: Zone) -> Option<Spot> {
        let sure = self.query.sure()?;
        let mut from = zone;
        loop {
            match self.look(near, from, &sure)? {
                Look::Place(spot) => return Some(spot),
                // The zone cuts it.
                Look::On(_, rest) => from = rest,
            }
        }
    }

    /// Whether more nodes were seen than a request may for its boundary. The searches themselves
    /// are few, and are counted for a quarter of it.
    fn is_out_of_patience(&self) -> bool {
        let a_search = 4 * u64::from((self.space.len() | 1).ilog2()) + 16;
        let is_bounded = self.query.need.boundary.is_some();
        is_bounded && self.steps.get() >= (PATIENCE - PATIENCE / 4) * a_search
    }

    /// Looks at the nearest gap that meets `need`; `None` if there is none in `zone`.
    #[inline(always)]
    fn look(&self, near: Side, zone: Zone, need: &Need) -> Option<Look> {
        let reach = self.query.reach();
        // From the first place on the grid: so a gap that the zone cuts is not looked at for what
        // lies before that.
        let (from, beyond) = match near {
            Side::Left => (self.query.grid.first_from(zone.low)?, reach),
            // Seen from above a grant begins where it ends, and what is behind it lies below.
            Side::Right => {
                let start = self.query.grid.last_to(zone.high);
                let last = start.saturating_add(self.query.len() - 1);
                (!last, self.query.len() - 1 + self.query.before)
            }
        };
        let found = self.view(near).first(from, need, beyond)?;
        self.judge(near, found, zone)
    }

    /// Looks at the next gap behind `found` that meets the need; `None` if there is none in `zone`.
    fn look_behind(&self, near: Side, found: &Found, zone: Zone) -> Option<Look> {
        let mut steps = self.steps.get();
        let found = self.view(near).next(found, &self.query.need, &mut steps);
        self.steps.set(steps);
        self.judge(near, found?, zone)
    }

    /// Looks for a place in a gap; `None` if there is none, and nothing in `zone` behind it.
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
                return Some(Look::Place(Spot {
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
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        let zones = self.query.zones.iter().flatten();
        zones.flat_map(move |zone| {
            let mut look = self.look(Side::Left, *zone, &self.query.need);
            core::iter::from_fn(move || {
                loop {
                    let (found, spot) = match look? {
                        Look::Place(spot) => (spot.found, Some(spot)),
                        Look::On(found, _) => (found, None),
                    };
                    look = self.look_behind(Side::Left, &found, *zone);
                    if spot.is_some() {
                        return spot;
                    }
                }
            })
        })
    }
}

/// What a look at a gap says.
#[derive(Clone, Copy)]
enum Look {
    /// There is a place in it.
    Place(Spot),
    /// There is none in it; and what is left of the zone behind it.
    On(Found, Zone),
}
