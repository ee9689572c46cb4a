//! A map of what is free, gone through until a gap is large enough.
//!
//! Asterinas writes this by hand for device addresses and for kernel memory (`RangeAllocator` in
//! `ostd`): a `BTreeMap` of free ranges, first fit. This is our own writing of that shape. The map
//! keeps lengths, so that a gap that is too small costs one load and one comparison; a window and an
//! exact range are looked up instead of scanned for; nothing is collected but for random placement.
//! Its counterpart, a map of what is taken, as Cloud Hypervisor and the mappings of Asterinas have
//! it, is the arm `scan` of the lab.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use furlong::addr::{Address, Extent, Iova};
use furlong_lab::experiments::Failure;
use furlong_lab::experiments::iova_gap::{self, AddressAllocator, Ask};
use furlong_spec::iova::{Geometry, Place};

use super::extents::{extent, not_filled};
use super::starts::{Starts, highest_in, lowest_in};
use super::{Offers, Peer};

/// A map from the first byte of each gap to how many follow it.
#[derive(Clone, Debug)]
pub struct FreeMap {
    gaps: BTreeMap<u64, u64>,
    first: u64,
    last: u64,
    starts: Starts,
}

/// A gap, and a place in it.
#[derive(Clone, Copy, Debug)]
struct Spot {
    gap: u64,
    behind: u64,
    start: u64,
}

impl FreeMap {
    #[inline]
    fn is_everywhere(&self, ask: &Ask) -> bool {
        ask.low <= self.first && self.last <= ask.high
    }

    #[inline]
    fn lowest(&self, ask: &Ask) -> Option<Spot> {
        if self.is_everywhere(ask) {
            return first_fit(self.gaps.iter(), ask, lowest_in);
        }
        let reaching = self.gaps.range(..ask.low).next_back();
        let inside = self.gaps.range(ask.low..=ask.high);
        first_fit(reaching.into_iter().chain(inside), ask, lowest_in)
    }

    #[inline]
    fn highest(&self, ask: &Ask) -> Option<Spot> {
        if self.is_everywhere(ask) {
            return first_fit(self.gaps.iter().rev(), ask, highest_in);
        }
        let inside = self.gaps.range(ask.low..=ask.high).rev();
        let reaching = self.gaps.range(..ask.low).next_back();
        first_fit(inside.chain(reaching), ask, highest_in)
    }

    fn random(&mut self, ask: &Ask, seed: u64) -> Option<Spot> {
        self.starts.clear();
        let reaching = self.gaps.range(..ask.low).next_back();
        let inside = self.gaps.range(ask.low..=ask.high);
        for (gap, behind) in reaching.into_iter().chain(inside) {
            self.starts.count(*gap, gap + behind, ask);
        }
        let start = self.starts.draw(seed, ask.align)?;
        let (gap, behind) = self.gaps.range(..=start).next_back()?;
        let (gap, behind) = (*gap, *behind);
        Some(Spot { gap, behind, start })
    }

    /// Takes `behind + 1` bytes out of a gap.
    #[inline]
    fn cut(&mut self, spot: Spot, behind: u64) {
        let (last, gap_last) = (spot.start + behind, spot.gap + spot.behind);
        match (spot.start - spot.gap).checked_sub(1) {
            None => drop(self.gaps.remove(&spot.gap)),
            Some(before) => drop(self.gaps.insert(spot.gap, before)),
        }
        if last < gap_last {
            self.gaps.insert(last + 1, gap_last - last - 1);
        }
    }

    /// Joins what is released to the gaps around it.
    #[inline]
    fn join(&mut self, released: Extent<Iova>) {
        let (mut start, mut last) = (released.start().raw(), released.last().raw());
        if let Some(behind) = last.checked_add(1).and_then(|next| self.gaps.remove(&next)) {
            last += 1 + behind;
        }
        if let Some((gap, behind)) = self.gaps.range(..start).next_back()
            && gap + behind == start - 1
        {
            start = *gap;
        }
        self.gaps.insert(start, last - start);
    }
}

/// The first gap that holds a place.
#[inline(always)]
fn first_fit<'a>(
    mut gaps: impl Iterator<Item = (&'a u64, &'a u64)>,
    ask: &Ask,
    place: impl Fn(u64, u64, &Ask) -> Option<u64>,
) -> Option<Spot> {
    gaps.find_map(|(gap, behind)| {
        if *behind < ask.size - 1 {
            return None;
        }
        let (gap, behind) = (*gap, *behind);
        let start = place(gap, gap + behind, ask)?;
        Some(Spot { gap, behind, start })
    })
}

impl AddressAllocator for FreeMap {
    type Grant = Extent<Iova>;

    fn new(space: Extent<Iova>) -> Result<Self, Failure> {
        let (first, last) = (space.start().raw(), space.last().raw());
        Ok(Self {
            gaps: BTreeMap::from([(first, last - first)]),
            first,
            last,
            starts: Starts::default(),
        })
    }

    fn fill(&mut self, extents: &[Extent<Iova>]) -> Result<Vec<Extent<Iova>>, Failure> {
        let grants = extents.iter().map(|extent| self.reserve_at(*extent));
        grants.collect::<Option<_>>().ok_or_else(not_filled)
    }

    #[inline]
    fn reserve(&mut self, ask: &Ask) -> Option<(u64, Extent<Iova>)> {
        let spot = match ask.place {
            iova_gap::Place::Lowest => self.lowest(ask),
            iova_gap::Place::Highest => self.highest(ask),
            iova_gap::Place::Random(seed) => self.random(ask, seed),
        }?;
        self.cut(spot, ask.size - 1);
        let granted = Extent::from_len(Iova::new(spot.start), ask.size)?;
        Some((spot.start, granted))
    }

    #[inline]
    fn release(&mut self, grant: Extent<Iova>) {
        self.join(grant);
    }

    fn reserved(&self) -> Result<Vec<Extent<Iova>>, Failure> {
        let mut reserved = Vec::new();
        let mut next = Some(self.first);
        for (gap, behind) in &self.gaps {
            if let Some(first) = next.filter(|first| first < gap) {
                reserved.push(extent(first, gap - 1)?);
            }
            next = (gap + behind).checked_add(1);
        }
        if let Some(first) = next.filter(|first| *first <= self.last) {
            reserved.push(extent(first, self.last)?);
        }
        Ok(reserved)
    }

    fn visits(&self) -> Option<u64> {
        None
    }
}

impl Peer for FreeMap {
    const OFFERS: Offers = Offers {
        places: &[Place::Lowest, Place::Highest, Place::Random(0)],
        align: true,
        window: true,
        reserve_at: true,
        release_at: false,
        reserved: true,
        mistakes: false,
    };

    fn over(geometry: Geometry) -> Option<Self> {
        Self::new(geometry.extent()).ok()
    }

    fn reserve_at(&mut self, wanted: Extent<Iova>) -> Option<Extent<Iova>> {
        let (start, last) = (wanted.start().raw(), wanted.last().raw());
        let (gap, behind) = self.gaps.range(..=start).next_back()?;
        let (gap, behind) = (*gap, *behind);
        if last > gap + behind {
            return None;
        }
        self.cut(Spot { gap, behind, start }, last - start);
        Some(wanted)
    }
}
