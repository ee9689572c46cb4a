//! The arm `scan`: a map of extents, gone through in order until a gap is large enough.
//!
//! This is what kernels and hypervisors write by hand who have an ordered map and no summaries. It
//! is written as fast as such a scan can be: it begins where the window does, not where the map
//! does, and ends with the window at no cost a step; a step is a few instructions on one entry;
//! nothing is collected but for random placement, and nothing allocated but the map's nodes. It
//! remembers nothing from one request to the next: a hint (the last grant, the largest gap seen)
//! makes easy requests easier and leaves the scan what it is.
#![forbid(unsafe_code)]

use std::any::Any;
use std::collections::BTreeMap;

use furlong::addr::{Address, Extent, Iova};
use furlong::rbtree::{Counters, Tally};
use furlong_spec::Random;

use super::allocator::{AddressAllocator, Ask, Place};
use crate::experiments::Failure;

/// A map from the first to the last address of each extent.
#[derive(Debug)]
pub struct Scan<K> {
    extents: BTreeMap<u64, u64>,
    space: Extent<Iova>,
    looks: K,
    /// For random placement: the first start in each gap that has any, and how many there are up to
    /// that gap, itself included.
    starts: Vec<(u64, u64)>,
}

impl<K: Counters> Scan<K> {
    /// The window of `ask` as far as the space goes.
    #[inline(always)]
    fn window(&self, ask: &Ask) -> (u64, u64) {
        let (first, last) = (self.space.start().raw(), self.space.last().raw());
        (ask.low.max(first), ask.high.min(last))
    }

    /// The first address from `low` on that no extent which begins below `low` covers.
    #[inline(always)]
    fn clear_of_below(&self, low: u64) -> Option<u64> {
        if low <= self.space.start().raw() {
            return Some(low);
        }
        self.looks.visit();
        match self.extents.range(..low).next_back() {
            Some((_, last)) if *last >= low => last.checked_add(1),
            _ => Some(low),
        }
    }

    fn lowest(&self, ask: &Ask) -> Option<u64> {
        let (low, high) = self.window(ask);
        let (need, mask) = (ask.size - 1, ask.align - 1);
        let mut from = self.clear_of_below(low)?;
        if from > high {
            return None;
        }
        for (start, last) in self.extents.range(from..=high) {
            self.looks.visit();
            let at = from.checked_add(mask)? & !mask;
            if at.checked_add(need)? < *start {
                return Some(at);
            }
            from = last.checked_add(1)?;
        }
        let at = from.checked_add(mask)? & !mask;
        (at.checked_add(need)? <= high).then_some(at)
    }

    fn highest(&self, ask: &Ask) -> Option<u64> {
        let (low, high) = self.window(ask);
        let (need, mask) = (ask.size - 1, ask.align - 1);
        if low > high {
            return None;
        }
        let mut top = high;
        for (start, last) in self.extents.range(low..=high).rev() {
            self.looks.visit();
            let at = top.checked_sub(need)? & !mask;
            if at > *last {
                return Some(at);
            }
            top = start.checked_sub(1)?;
        }
        let at = top.checked_sub(need)? & !mask;
        (at >= self.clear_of_below(low)?).then_some(at)
    }

    /// One pass counts the starts of every gap; the draw is then looked up in what it counted.
    fn random(&mut self, ask: &Ask, seed: u64) -> Option<u64> {
        let (low, high) = self.window(ask);
        let (need, mask) = (ask.size - 1, ask.align - 1);
        let shift = ask.align.trailing_zeros();
        let mut from = self.clear_of_below(low)?;
        if from > high {
            return None;
        }
        let mut all = 0;
        self.starts.clear();
        let mut count = |from: u64, end: u64| {
            // Starts are those up to `end - size`, which may lie below 0 or below the first.
            let first = from.checked_add(mask)? & !mask;
            let room = end.checked_sub(need)?.checked_sub(first)?;
            all += (room >> shift) + 1;
            self.starts.push((first, all));
            Some(())
        };
        let mut is_open = true;
        for (start, last) in self.extents.range(from..=high) {
            self.looks.visit();
            if let Some(end) = start.checked_sub(1) {
                count(from, end);
            }
            is_open = *last < high;
            from = last.wrapping_add(1);
        }
        if is_open {
            count(from, high);
        }
        if all == 0 {
            return None;
        }
        let drawn = Random::new(seed).below(all);
        let at = self.starts.partition_point(|(_, upto)| *upto <= drawn);
        let below = at.checked_sub(1).map_or(0, |before| self.starts[before].1);
        Some(self.starts[at].0 + ((drawn - below) << shift))
    }
}

impl<K: Counters + 'static> AddressAllocator for Scan<K> {
    type Grant = u64;

    fn new(space: Extent<Iova>) -> Result<Self, Failure> {
        Ok(Self {
            extents: BTreeMap::new(),
            space,
            looks: K::default(),
            starts: Vec::new(),
        })
    }

    /// Built in one go, which leaves its nodes full and in memory in their order: the best that a
    /// scan can meet.
    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<u64>, Failure> {
        let entries = extents.iter().map(|e| (e.start().raw(), e.last().raw()));
        self.extents = entries.collect();
        Ok(self.extents.keys().copied().collect())
    }

    #[inline(always)]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, u64)> {
        let start = match ask.place {
            Place::Lowest => self.lowest(ask)?,
            Place::Highest => self.highest(ask)?,
            Place::Random(seed) => self.random(ask, seed)?,
        };
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
