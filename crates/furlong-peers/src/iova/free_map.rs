//! A map of free gaps, searched linearly for the first that is large enough.
//!
//! Asterinas writes this by hand for device addresses and kernel memory (`RangeAllocator` in
//! `ostd`): a `BTreeMap` of free ranges, first fit. This is our own implementation of that shape,
//! written to be fast. The map stores lengths, so a gap that is too small costs one load and one
//! comparison. Its keys are the last bytes, which stay when the front of a gap is taken or
//! returned. So most reservations and releases change a value in place. Windows and exact ranges
//! are looked up instead of scanned for. Gaps are collected only for random placement.
//!
//! The lab's arm `scan` is the opposite: a map of taken ranges, as Cloud Hypervisor and the
//! mappings of Asterinas use it.

use std::collections::BTreeMap;
use std::ops::Bound;

use furlong::addr::{Address, Extent, Iova};
use furlong_experiments_devices::iova_gap::{self, AddressAllocator, Ask};
use furlong_lab::model::Failure;

use super::extents::extent;
use super::starts::{Starts, highest_in, lowest_in};
use super::{Offers, Peer};

/// A map from the last byte of each gap to the number of bytes before it in the gap.
pub struct FreeMap {
    gaps: BTreeMap<u64, u64>,
    first: u64,
    last: u64,
    starts: Starts,
}

/// A place that was cut out of a gap, as far as no key has changed yet.
#[derive(Clone, Copy)]
struct Cut {
    start: u64,
    gap_last: u64,
    /// True if nothing of the gap is left behind the place.
    is_gone: bool,
    /// Bytes of the gap that are left before the place.
    front: u64,
}

/// Takes `behind + 1` bytes from `start` on out of the gap that ends with `gap_last`.
#[inline]
fn cut(gap_last: u64, before: &mut u64, start: u64, behind: u64) -> Cut {
    let front = start - (gap_last - *before);
    let tail = gap_last - (start + behind);
    if let Some(others) = tail.checked_sub(1) {
        *before = others;
    }
    Cut {
        start,
        gap_last,
        is_gone: tail == 0,
        front,
    }
}

/// Cuts `behind + 1` bytes out of the first gap that has room. `place` computes the start from the
/// last byte of a gap and the number of bytes before it.
#[inline(always)]
fn first_fit<'a>(
    mut gaps: impl Iterator<Item = (&'a u64, &'a mut u64)>,
    behind: u64,
    place: impl Fn(u64, u64) -> Option<u64>,
) -> Option<Cut> {
    gaps.find_map(|(last, before)| {
        if *before < behind {
            return None;
        }
        let start = place(*last, *before)?;
        Some(cut(*last, before, start, behind))
    })
}

impl FreeMap {
    /// The lowest place. Only the first and last gap of a window can extend beyond its ends.
    #[inline]
    fn lowest(&mut self, ask: &Ask) -> Option<Cut> {
        let (behind, mask) = (ask.size - 1, ask.align - 1);
        let inside_of = |last: u64, before: u64| {
            let first = last - before;
            let padding = first.wrapping_neg() & mask;
            (padding <= before - behind).then(|| first + padding)
        };
        let at_end = |last: u64, before: u64| lowest_in(last - before, last, ask);
        if ask.low <= self.first && self.last <= ask.high {
            return first_fit(self.gaps.iter_mut(), behind, inside_of);
        }
        let mut inside = self.gaps.range_mut(ask.low..=ask.high);
        if let Some(cut) = first_fit(inside.next().into_iter(), behind, at_end) {
            return Some(cut);
        }
        if let Some(cut) = first_fit(inside, behind, inside_of) {
            return Some(cut);
        }
        first_fit(self.over(ask.high), behind, at_end)
    }

    #[inline]
    fn highest(&mut self, ask: &Ask) -> Option<Cut> {
        let (behind, mask) = (ask.size - 1, ask.align - 1);
        let inside_of = |last: u64, before: u64| {
            let start = (last - behind) & !mask;
            (last - before <= start).then_some(start)
        };
        let at_end = |last: u64, before: u64| highest_in(last - before, last, ask);
        if ask.low <= self.first && self.last <= ask.high {
            return first_fit(self.gaps.iter_mut().rev(), behind, inside_of);
        }
        if let Some(cut) = first_fit(self.over(ask.high), behind, at_end) {
            return Some(cut);
        }
        let mut inside = self.gaps.range_mut(ask.low..=ask.high);
        let lowest = inside.next();
        if let Some(cut) = first_fit(inside.rev(), behind, inside_of) {
            return Some(cut);
        }
        first_fit(lowest.into_iter(), behind, at_end)
    }

    /// The first gap that ends above `high`.
    #[inline]
    fn over(&mut self, high: u64) -> impl Iterator<Item = (&u64, &mut u64)> {
        let behind = (Bound::Excluded(high), Bound::Unbounded);
        self.gaps.range_mut(behind).take(1)
    }

    fn random(&mut self, ask: &Ask, seed: u64) -> Option<Cut> {
        self.starts.clear();
        let behind = (Bound::Excluded(ask.high), Bound::Unbounded);
        let inside = self.gaps.range(ask.low..=ask.high);
        for (last, before) in inside.chain(self.gaps.range(behind).take(1)) {
            self.starts.count(last - before, *last, ask);
        }
        let start = self.starts.draw(seed, ask.align)?;
        let (gap_last, before) = self.gaps.range_mut(start..).next()?;
        Some(cut(*gap_last, before, start, ask.size - 1))
    }

    /// Updates the keys after a cut.
    #[inline]
    fn settle(&mut self, cut: Cut) {
        if cut.is_gone {
            self.gaps.remove(&cut.gap_last);
        }
        if let Some(others) = cut.front.checked_sub(1) {
            self.gaps.insert(cut.start - 1, others);
        }
    }

    /// Merges a released extent with the gaps around it.
    #[inline]
    fn join(&mut self, released: Extent<Iova>) {
        let (start, last) = (released.start().raw(), released.last().raw());
        let below = start.checked_sub(1).and_then(|end| self.gaps.remove(&end));
        let bytes = last - start + below.map_or(0, |before| before + 1);
        let next = last.checked_add(1);
        let above = next.and_then(|next| self.gaps.range_mut(next..).next());
        match above {
            Some((end, before)) if Some(*end - *before) == next => *before += bytes + 1,
            _ => drop(self.gaps.insert(last, bytes)),
        }
    }
}

impl AddressAllocator for FreeMap {
    type Grant = Extent<Iova>;

    fn new(space: Extent<Iova>, _: u64) -> Result<Self, Failure> {
        let (first, last) = (space.start().raw(), space.last().raw());
        Ok(Self {
            gaps: BTreeMap::from([(last, last - first)]),
            first,
            last,
            starts: Starts::default(),
        })
    }

    fn reserve_at(&mut self, wanted: Extent<Iova>) -> Option<Extent<Iova>> {
        let (start, last) = (wanted.start().raw(), wanted.last().raw());
        let (gap_last, before) = self.gaps.range_mut(last..).next()?;
        if start < *gap_last - *before {
            return None;
        }
        let cut = cut(*gap_last, before, start, last - start);
        self.settle(cut);
        Some(wanted)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Extent<Iova>)> {
        if ask.low > ask.high {
            return None;
        }
        let cut = match ask.place {
            iova_gap::Place::Lowest => self.lowest(ask),
            iova_gap::Place::Highest => self.highest(ask),
            iova_gap::Place::Random(seed) => self.random(ask, seed),
        }?;
        self.settle(cut);
        let granted = Extent::from_len(Iova::new(cut.start), ask.size)?;
        Some((cut.start, granted))
    }

    #[inline]
    fn release(&mut self, grant: Extent<Iova>) {
        self.join(grant);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let mut reserved = Vec::new();
        let mut next = Some(self.first);
        for (gap_last, before) in &self.gaps {
            let gap = gap_last - before;
            if let Some(first) = next.filter(|first| *first < gap) {
                reserved.push(extent(first, gap - 1)?);
            }
            next = gap_last.checked_add(1);
        }
        if let Some(first) = next.filter(|first| *first <= self.last) {
            reserved.push(extent(first, self.last)?);
        }
        Ok(reserved)
    }
}

impl Peer for FreeMap {
    const OFFERS: Offers = Offers::OF_A_MAP;
}
