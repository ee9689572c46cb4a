//! The arm `scan`: a map of extents, searched in order until a gap is large enough.
//!
//! Kernels and hypervisors with an ordered map and no summaries use such a scan. It is written to
//! be as fast as it can be:
//! - it begins at the window, not at the map's start, and the check for the window's end costs
//!   nothing per step
//! - without an alignment, a step is a subtraction and a comparison
//! - it collects nothing, and allocates nothing but the map's nodes
//!
//! Other ways to walk the map (`iter`, `find`, `try_fold`) were slower. The scan remembers nothing
//! from one request to the next. A hint (the last grant, the largest gap seen) would make easy
//! requests easier, but the scan would stay the same.

use std::any::Any;
use std::collections::BTreeMap;

use furlong::addr::{Address, Extent, Iova};
use furlong::rbtree::{Counters, Tally};
use furlong_spec::Random;

use super::allocator::{AddressAllocator, Ask, PAGE, Place};
use furlong_lab::model::Failure;

/// A map from the first to the last address of each extent.
#[derive(Debug)]
pub struct Scan<K> {
    extents: BTreeMap<u64, u64>,
    space: Extent<Iova>,
    looks: K,
}

/// A request, clipped to the space.
struct Query {
    low: u64,
    high: u64,
    size: u64,
    /// Alignment minus 1, if larger than a page's.
    mask: Option<u64>,
}

impl Query {
    /// The first place from `from` on, in a gap that ends before `end`, without alignment.
    #[inline(always)]
    fn anywhere(&self, from: u64, end: u64) -> Option<u64> {
        (end.wrapping_sub(from) >= self.size).then_some(from)
    }

    /// The same at a multiple of the alignment.
    #[inline(always)]
    fn aligned(&self, mask: u64, from: u64, end: u64) -> Option<u64> {
        let at = from.checked_add(mask)? & !mask;
        (end.checked_sub(at)? >= self.size).then_some(at)
    }

    /// The last place in a gap after `last` up to `top`, at a multiple of `mask + 1`.
    #[inline(always)]
    fn downwards(&self, mask: u64, last: u64, top: u64) -> Option<u64> {
        let at = top.checked_sub(self.size - 1)? & !mask;
        (at > last).then_some(at)
    }

    /// Number of places from `from` up to `last`, and the first of them.
    #[inline(always)]
    fn places(&self, from: u64, last: u64) -> (u64, u64) {
        let mask = self.mask.unwrap_or(PAGE - 1);
        let places = || {
            let first = from.checked_add(mask)? & !mask;
            let room = last.checked_sub(self.size - 1)?.checked_sub(first)?;
            Some(((room >> mask.count_ones()) + 1, first))
        };
        places().unwrap_or_default()
    }
}

impl<K: Counters> Scan<K> {
    fn query(&self, ask: &Ask) -> Option<Query> {
        let (first, last) = (self.space.start().raw(), self.space.last().raw());
        let query = Query {
            low: ask.low.max(first),
            high: ask.high.min(last),
            size: ask.size,
            mask: (ask.align > PAGE).then_some(ask.align - 1),
        };
        (query.low <= query.high).then_some(query)
    }

    /// The first address of the window that is not covered by an extent from below the window.
    #[inline(always)]
    fn clear(&self, query: &Query) -> Option<u64> {
        if query.low == self.space.start().raw() {
            return Some(query.low);
        }
        self.looks.visit();
        match self.extents.range(..query.low).next_back() {
            Some((_, last)) if *last >= query.low => last.checked_add(1),
            _ => Some(query.low),
        }
    }

    /// Iterates over extents that begin in the window, from `from` on.
    #[inline(always)]
    fn extents(&self, from: u64, query: &Query) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let extents = self.extents.range(from..=query.high.max(from));
        extents.map(|(start, last)| {
            self.looks.visit();
            (*start, *last)
        })
    }

    /// Returns the first place for which `place` accepts a gap, given its first address and its
    /// end.
    #[inline(always)]
    fn lowest(&self, query: &Query, place: impl Fn(u64, u64) -> Option<u64>) -> Option<u64> {
        let mut from = self.clear(query)?;
        for (start, last) in self.extents(from, query) {
            if let Some(at) = place(from, start) {
                return Some(at);
            }
            // No extent follows one that ends at the last 64-bit address.
            from = last.wrapping_add(1);
        }
        self.behind(from, query)
    }

    /// The place after the last extent of the window, which ends before `from`.
    #[inline(always)]
    fn behind(&self, from: u64, query: &Query) -> Option<u64> {
        let is_over = from == 0 && self.extents.range(..=query.high).next().is_some();
        let mask = query.mask.unwrap_or(0);
        let at = from.checked_add(mask)? & !mask;
        (!is_over && at.checked_add(query.size - 1)? <= query.high).then_some(at)
    }

    #[inline(always)]
    fn highest(&self, query: &Query, mask: u64) -> Option<u64> {
        let mut top = query.high;
        for (start, last) in self.extents(query.low, query).rev() {
            if let Some(at) = query.downwards(mask, last, top) {
                return Some(at);
            }
            top = start.checked_sub(1)?;
        }
        let at = top.checked_sub(query.size - 1)? & !mask;
        (at >= self.clear(query)?).then_some(at)
    }

    /// Counts all places, draws one, and counts again to find it.
    fn random(&self, query: &Query, seed: u64) -> Option<u64> {
        let mut all = 0;
        self.each_gap(query, |first, last| {
            all += query.places(first, last).0;
            false
        });
        if all == 0 {
            return None;
        }
        let mut left = Random::new(seed).below(all);
        let mut found = None;
        self.each_gap(query, |first, last| {
            let (places, first) = query.places(first, last);
            if left < places {
                let shift = query.mask.unwrap_or(PAGE - 1).count_ones();
                found = Some(first + (left << shift));
                return true;
            }
            left -= places;
            false
        });
        found
    }

    /// Calls `is_done` with each stretch of the window that may be a gap, until it returns true.
    #[inline(always)]
    fn each_gap(&self, query: &Query, mut is_done: impl FnMut(u64, u64) -> bool) {
        let Some(mut from) = self.clear(query) else {
            return;
        };
        for (start, last) in self.extents(from, query) {
            if start > from && is_done(from, start - 1) {
                return;
            }
            match last.checked_add(1) {
                Some(next) => from = next,
                None => return,
            }
        }
        if from <= query.high {
            is_done(from, query.high);
        }
    }
}

impl<K: Counters + 'static> AddressAllocator for Scan<K> {
    type Grant = u64;

    fn new(space: Extent<Iova>, _: u64) -> Result<Self, Failure> {
        Ok(Self {
            extents: BTreeMap::new(),
            space,
            looks: K::default(),
        })
    }

    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<u64>, Failure> {
        let reserve = |extent: &Extent<Iova>| {
            let (start, last) = (extent.start().raw(), extent.last().raw());
            self.extents.insert(start, last);
            start
        };
        Ok(extents.iter().map(reserve).collect())
    }

    #[inline(always)]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, u64)> {
        let query = self.query(ask)?;
        let start = match (ask.place, query.mask) {
            (Place::Lowest, None) => self.lowest(&query, |from, end| query.anywhere(from, end)),
            (Place::Lowest, Some(mask)) => {
                self.lowest(&query, |from, end| query.aligned(mask, from, end))
            }
            (Place::Highest, mask) => self.highest(&query, mask.unwrap_or(0)),
            (Place::Random(seed), _) => self.random(&query, seed),
        }?;
        self.extents.insert(start, start + (ask.size - 1));
        Some((start, start))
    }

    #[inline(always)]
    fn release(&mut self, start: u64) {
        self.extents.remove(&start).expect("it is reserved");
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let extent = |(start, last): (&u64, &u64)| {
            Extent::from_last(Iova::new(*start), Iova::new(*last))
                .ok_or_else(|| Failure("an extent ends before it begins".to_owned()))
        };
        self.extents.iter().map(extent).collect()
    }

    fn visits(&self) -> Option<u64> {
        let tally = (&self.looks as &dyn Any).downcast_ref::<Tally>();
        tally.map(Tally::visits)
    }
}
