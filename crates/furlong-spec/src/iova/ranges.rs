//! The model's operations on ranges, on parts of extents, and on extents without a grant.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{
    ClaimError, ExtendError, Kind, PartError, RangeError, ReleaseError, ReserveAtError,
};

use super::model::{Model, Run};
use super::{Granted, Outcome};

impl Model {
    /// The granules of a range, which has to lie within the space.
    fn range(&self, range: Extent<Iova>) -> Result<Run, RangeError> {
        self.inside(range).map_err(|error| match error {
            ReserveAtError::Ragged(range) => RangeError::Ragged(range),
            _ => RangeError::Outside(self.geometry.extent()),
        })
    }

    /// The parts of `stretches` in `range`.
    fn parts(range: &Run, stretches: impl Iterator<Item = Run>) -> Vec<Run> {
        let part = |run: Run| run.start.max(range.start)..run.end.min(range.end);
        let parts = stretches.map(part).filter(|part| !part.is_empty());
        parts.collect()
    }

    /// Reserves all free parts of `range`; `None` and no change if memory is short.
    fn take_parts(&mut self, range: &Run, kind: Kind) -> Option<Vec<Extent<Iova>>> {
        let parts = Self::parts(range, self.runs(true));
        let extents: Vec<_> = parts.iter().map(|part| self.extent(part)).collect();
        let has_room = self.live() + parts.len() <= self.room || parts.is_empty();
        for extent in extents.iter().filter(|_| has_room) {
            self.take(Granted::whole(*extent), kind);
        }
        has_room.then_some(extents)
    }

    pub(super) fn fixed(&mut self, region: Extent<Iova>) -> Result<Outcome, ReserveAtError> {
        let range = self.inside(region)?;
        let mut owners = self.runs(false).filter(|run| run.start < range.end);
        let other = |run: &Run| range.start < run.end && self.kind(run) != Kind::Fixed;
        if let Some(owner) = owners.find(other) {
            return Err(ReserveAtError::Occupied(self.extent(&owner)));
        }
        drop(owners);
        let added = self.take_parts(&range, Kind::Fixed);
        added.map(Outcome::Parts).ok_or(ReserveAtError::NoMemory)
    }

    pub(super) fn fill(&mut self, range: Extent<Iova>) -> Result<Outcome, RangeError> {
        let range = self.range(range)?;
        let granted = self.take_parts(&range, Kind::Granted);
        granted.map(Outcome::Parts).ok_or(RangeError::NoMemory)
    }

    /// True if no node is left for the second extent that cutting `part` out of `run` makes.
    fn lacks_node(&self, run: &Run, part: &Run) -> bool {
        run.start < part.start && part.end < run.end && self.is_full()
    }

    pub(super) fn release_range(&mut self, range: Extent<Iova>) -> Result<Outcome, RangeError> {
        let range = self.range(range)?;
        let is_loose = |run: &Run| self.kind(run) != Kind::Fixed;
        let runs: Vec<Run> = self.runs(false).filter(is_loose).collect();
        let cuts = runs.into_iter().filter_map(|run| {
            let part = Self::parts(&range, [run.clone()].into_iter()).pop()?;
            Some((run, part))
        });
        let cuts: Vec<(Run, Run)> = cuts.collect();
        if cuts.iter().any(|(run, part)| self.lacks_node(run, part)) {
            return Err(RangeError::NoMemory);
        }
        let mut pieces = Vec::new();
        for (run, part) in cuts {
            pieces.push((self.extent(&part), self.kind(&run)));
            self.owners[part.clone()].fill(None);
            // The rest below and above it become separate extents.
            for rest in [run.start..part.start, part.end..run.end] {
                self.own(&rest, Kind::Unclaimed);
            }
        }
        Ok(Outcome::Pieces(pieces))
    }

    pub(super) fn release_part(&mut self, grant: usize, part: Extent<Iova>) -> Option<Outcome> {
        let (number, granted) = self.pick(grant)?;
        let kept = self.kept(number, &granted, part);
        if kept.is_err() {
            self.grants.push((number, granted));
        }
        Some(kept.unwrap_or_else(Outcome::PartNotReleased))
    }

    /// Releases `part` of a grant. The rest below and above it stay granted.
    fn kept(
        &mut self,
        number: u64,
        granted: &Granted,
        part: Extent<Iova>,
    ) -> Result<Outcome, PartError> {
        let run = self.run_of(number, granted).ok_or(PartError::Stale)?;
        let (first, end) = self.granules(part).ok_or(PartError::Ragged)?;
        if first < run.start as i128 || (run.end as i128) < end {
            return Err(PartError::NotInside);
        }
        let part = first as usize..end as usize;
        if self.lacks_node(&run, &part) {
            return Err(PartError::NoMemory);
        }
        self.owners[run.clone()].fill(None);
        let mut keep = |rest: Run| {
            let extent = (!rest.is_empty()).then(|| self.extent(&rest))?;
            let data = granted.data.intersection(&extent).unwrap_or(extent);
            Some(self.take(Granted { extent, data }, Kind::Granted))
        };
        let below = keep(run.start..part.start);
        Ok(Outcome::Kept(below, keep(part.end..run.end)))
    }

    pub(super) fn claim(&mut self, extent: Extent<Iova>) -> Result<Granted, ClaimError> {
        let run = self.exactly(extent).map_err(|error| match error {
            ReleaseError::Ragged(extent) => ClaimError::Ragged(extent),
            ReleaseError::Partial(owner) => ClaimError::Partial(owner),
            _ => ClaimError::NotReserved,
        })?;
        match self.kind(&run) {
            Kind::Granted => Err(ClaimError::Granted),
            Kind::Fixed => Err(ClaimError::Fixed),
            Kind::Unclaimed => Ok(self.take(Granted::whole(extent), Kind::Granted)),
        }
    }

    pub(super) fn disown(&mut self, grant: usize) -> Option<Outcome> {
        let (number, granted) = self.pick(grant)?;
        let Some(run) = self.run_of(number, &granted) else {
            return Some(Outcome::Stale(granted.extent));
        };
        self.own(&run, Kind::Unclaimed);
        Some(Outcome::Disowned(granted.extent))
    }

    /// Adds the granules of `to` below and above the space.
    pub(super) fn extend(&mut self, to: Extent<Iova>) -> Result<Outcome, ExtendError> {
        let (first, end) = self.granules(to).ok_or(ExtendError::Ragged(to))?;
        let granules = self.owners.len() as i128;
        if first > 0 || end < granules {
            return Err(ExtendError::Smaller(self.geometry.extent()));
        }
        let free = |count: i128| core::iter::repeat_n(None, count as usize);
        self.owners.splice(0..0, free(-first));
        self.owners.extend(free(end - granules));
        self.geometry.start = to.start().raw();
        self.geometry.granules = self.owners.len();
        Ok(Outcome::Extended)
    }

    pub(super) fn release_unclaimed(&mut self) -> Outcome {
        let is_unclaimed = |run: &Run| self.kind(run) == Kind::Unclaimed;
        let unclaimed: Vec<Run> = self.runs(false).filter(is_unclaimed).collect();
        let piece = |run: &Run| (self.extent(run), Kind::Unclaimed);
        let pieces = unclaimed.iter().map(piece).collect();
        for run in unclaimed {
            self.owners[run].fill(None);
        }
        Outcome::Pieces(pieces)
    }

    /// Turns granted extents into unclaimed ones, and drops all grants.
    pub(super) fn save_and_restore(&mut self) -> Outcome {
        for owner in self.owners.iter_mut().flatten() {
            if owner.kind == Kind::Granted {
                owner.kind = Kind::Unclaimed;
            }
        }
        self.grants.clear();
        Outcome::Restored
    }

    /// The free parts of `range`.
    pub(super) fn free_in(&self, range: Extent<Iova>) -> Outcome {
        let gaps = self.runs(true).map(|run| self.extent(&run));
        Outcome::Free(gaps.filter_map(|gap| gap.intersection(&range)).collect())
    }

    /// The extents that overlap `range`.
    pub(super) fn reserved_in(&self, range: Extent<Iova>) -> Outcome {
        let extents = self.runs(false).map(|run| self.listed(&run));
        let inside = extents.filter(|(extent, _)| extent.overlaps(&range));
        Outcome::Reserved(inside.collect())
    }
}
