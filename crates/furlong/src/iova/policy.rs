//! Seam: which of the places that suit a request it gets.
//!
//! Every policy finds a place wherever there is one. What each promises about the choice holds for
//! size and window always. An alignment above a granule, or a boundary, leaves places out of a gap
//! that is large enough, so that a gap may have to be looked at to be refused:
//!
//! - with the [largest gap](super::Measure) for a measure, [`Lowest`] and [`Highest`] look at
//!   [`LOOKS`] such gaps, and then prefer the next gap so large that it surely holds a place to a
//!   nearer one that may; only where there is none they go on looking, O(log n) a gap;
//! - with [`Runs`](super::Runs) no gap is looked at in vain for an alignment that the measure
//!   knows, where the request has no guard before it, and the choice is exact.
#![forbid(unsafe_code)]

use super::query::{Need, Query, Zone};
use super::search::{Found, View};
use super::{Config, Space, Storage};
use crate::addr::{Address, Iova};
use crate::rbtree::Side;

/// How many gaps that are large enough, but hold no place on the grid, a search looks at before it
/// asks for one that surely does.
pub const LOOKS: u32 = 32;

/// A place for a request.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub(super) start: u64,
    /// From the first to the last start in the same gap and zone, on the grid or not.
    pub(super) starts: Zone,
    pub(super) found: Found,
}

/// What a policy chooses from.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, C: Config, S: Storage<C>> {
    pub(super) space: &'a Space<C, S>,
    pub(super) query: &'a Query,
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
/// It costs a search on each side of the hint; the second one ends where nothing is nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near(pub Iova);

/// The lowest place in the smallest gap.
///
/// It looks at every gap that is large enough, O(log n) each, and stops at one that fits exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Best;

impl Choose for Lowest {
    #[inline(always)]
    fn choose<C, S>(&mut self, field: &Field<'_, C, S>) -> Option<Spot>
    where
        C: Config,
        S: Storage<C>,
    {
        let zones = field.query.zones.iter().flatten();
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
        let zones = field.query.zones.iter().rev().flatten();
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
        let hint = self.0.raw() >> field.space.shift;
        let mut best = None::<Spot>;
        for zone in field.query.zones.iter().flatten() {
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
            if len == field.query.need.span {
                break;
            }
        }
        best
    }
}

impl<C: Config, S: Storage<C>> Field<'_, C, S> {
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
            Look::On(rest) => self.look_on(near, rest),
        }
    }

    /// The same where the nearest gap holds no place.
    #[cold]
    fn look_on(&self, near: Side, zone: Zone) -> Option<Spot> {
        let mut from = zone;
        for _ in 1..LOOKS {
            match self.look(near, from, &self.query.need)? {
                Look::Place(spot) => return Some(spot),
                Look::On(rest) => from = rest,
            }
        }
        let patient = from;
        if let Some(sure) = self.query.sure() {
            while let Some(look) = self.look(near, from, &sure) {
                match look {
                    Look::Place(spot) => return Some(spot),
                    Look::On(rest) => from = rest,
                }
            }
        }
        from = patient;
        loop {
            match self.look(near, from, &self.query.need)? {
                Look::Place(spot) => return Some(spot),
                Look::On(rest) => from = rest,
            }
        }
    }

    /// Looks at the next gap that meets `need`; `None` if there is none in `zone`.
    #[inline(always)]
    fn look(&self, near: Side, zone: Zone, need: &Need) -> Option<Look> {
        let view = self.view(near);
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
        let found = view.first(from, need, beyond)?;
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
        (rest.low <= rest.high).then_some(Look::On(rest))
    }

    /// Every gap that holds a place, in ascending order, each with its lowest place.
    pub(super) fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        let zones = self.query.zones.iter().flatten();
        zones.flat_map(move |zone| {
            let mut rest = Some(*zone);
            core::iter::from_fn(move || {
                loop {
                    let look = self.look(Side::Left, rest?, &self.query.need);
                    match look? {
                        Look::On(further) => rest = Some(further),
                        Look::Place(spot) => {
                            let low = spot.found.gap.last.checked_add(1);
                            let low = low.filter(|low| *low <= zone.high);
                            rest = low.map(|low| Zone { low, ..*zone });
                            return Some(spot);
                        }
                    }
                }
            })
        })
    }
}

/// What a look at a gap says.
enum Look {
    /// There is a place in it.
    Place(Spot),
    /// There is none; this is what is left of the zone behind it.
    On(Zone),
}
