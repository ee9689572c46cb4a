//! The naive model: it keeps an owner for each granule, and answers by trying every place.
//!
//! `places` defines the places that suit a request, and `ranges` the operations on ranges. Neither
//! uses the library's arithmetic.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Kind, PartError, ReleaseError, Request, ReserveAtError, ReserveError};

use super::{Geometry, Granted, Operation, Outcome, Place};
use crate::compare::agree;
use crate::{Judge, Subject};

/// The owner of a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The number of its extent, which is never reused.
    number: u64,
    pub(super) kind: Kind,
}

/// A subject's promise about its choice for requests that have an alignment or a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The policy's choice among all places, for every request.
    Exact,
    /// The policy's choice if at most [`LOOKS`](furlong::iova::LOOKS) gaps are large enough.
    /// Without a boundary and a guard before, also its choice for some alignments: the span of the
    /// grant and the guard after it, and those below 2 to the power of this number, in granules.
    /// Otherwise any place.
    Looks(u32),
    /// As `Looks(0)`. Also the policy's choice if the boundary is 2 to the power of this number, in
    /// granules, with no alignment and at most one granule of guard on each side.
    Bounded(u32),
}

/// The naive space, with an owner for each granule.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) geometry: Geometry,
    pub(super) promise: Promise,
    pub(super) owners: Vec<Option<Owner>>,
    /// Grants, each with the number of its extent.
    pub(super) grants: Vec<(u64, Granted)>,
    /// The number of the next extent.
    next: u64,
    /// The number of extents that there is memory for.
    pub(super) room: usize,
}

/// A half-open range of granules.
pub(super) type Run = core::ops::Range<usize>;

impl Model {
    /// An empty space.
    #[must_use]
    pub fn new(geometry: Geometry, promise: Promise) -> Self {
        Self {
            geometry,
            promise,
            owners: vec![None; geometry.granules],
            grants: Vec::new(),
            next: 0,
            room: usize::MAX,
        }
    }

    /// The same space, with memory for `extents` extents only.
    #[must_use]
    pub fn with_room(mut self, extents: usize) -> Self {
        self.room = extents;
        self
    }

    /// The number of grants, stale ones included.
    #[must_use]
    pub fn grants(&self) -> usize {
        self.grants.len()
    }

    /// The granules at which a request fits without a cut, in order; empty if the request is a
    /// mistake.
    #[must_use]
    pub fn starts(&self, request: &Request) -> Vec<usize> {
        match self.all_places(request) {
            Ok((places, false)) => places,
            _ => Vec::new(),
        }
    }

    /// The gaps, or the extents, in order. Adjacent extents are separate.
    pub(super) fn runs(&self, is_free: bool) -> impl Iterator<Item = Run> + '_ {
        let mut at = 0;
        let number = |owner: &Option<Owner>| owner.map(|owner| owner.number);
        let all = core::iter::from_fn(move || {
            let first = self.owners.get(at)?;
            let same = |owner: &&Option<Owner>| number(owner) == number(first);
            let begin = at;
            at += self.owners[at..].iter().take_while(same).count();
            Some(begin..at)
        });
        all.filter(move |run| self.owners[run.start].is_none() == is_free)
    }

    /// The gap that contains granule `at`.
    pub(super) fn gap(&self, at: usize) -> Run {
        let mut gaps = self.runs(true);
        gaps.find(|gap| gap.contains(&at)).expect("it is free")
    }

    pub(super) fn extent(&self, run: &Run) -> Extent<Iova> {
        let extent = self.geometry.granules(run.start, run.len());
        extent.expect("the granules of a space are in 64 bits")
    }

    /// The granules of `extent` if it consists of whole ones; the count extends beyond the space.
    pub(super) fn granules(&self, extent: Extent<Iova>) -> Option<(i128, i128)> {
        let granule = i128::from(self.geometry.granule);
        let first = i128::from(extent.start().raw()) - i128::from(self.geometry.start);
        let end = i128::from(extent.last().raw()) + 1 - i128::from(self.geometry.start);
        let is_whole = first % granule == 0 && end % granule == 0;
        is_whole.then_some((first / granule, end / granule))
    }

    /// The first extent that overlaps granules `first..end`.
    fn overlapping(&self, (first, end): (i128, i128)) -> Option<Run> {
        let mut reserved = self.runs(false);
        reserved.find(|run| (run.start as i128) < end && first < run.end as i128)
    }

    pub(super) fn kind(&self, run: &Run) -> Kind {
        self.owners[run.start].expect("it is reserved").kind
    }

    /// An extent and its kind.
    pub(super) fn listed(&self, run: &Run) -> (Extent<Iova>, Kind) {
        (self.extent(run), self.kind(run))
    }

    /// Makes an extent of `run`, which may be empty. Returns the number of the extent.
    pub(super) fn own(&mut self, run: &Run, kind: Kind) -> u64 {
        let number = self.next;
        self.next += 1;
        self.owners[run.clone()].fill(Some(Owner { number, kind }));
        number
    }

    /// Reserves `granted`, and returns it.
    pub(super) fn take(&mut self, granted: Granted, kind: Kind) -> Granted {
        let granules = self.granules(granted.extent);
        let (first, end) = granules.expect("grants are whole granules");
        let number = self.own(&(first as usize..end as usize), kind);
        if kind == Kind::Granted {
            self.grants.push((number, granted));
        }
        granted
    }

    /// The number of extents.
    pub(super) fn live(&self) -> usize {
        self.runs(false).count()
    }

    pub(super) fn is_full(&self) -> bool {
        self.live() >= self.room
    }

    fn reserve(&mut self, request: &Request, place: Place) -> Outcome {
        match self.all_places(request) {
            Err(error) => Outcome::Refused(error),
            Ok(_) if self.is_full() => Outcome::Refused(ReserveError::NoMemory),
            Ok((places, is_cut)) => {
                let granted = self.granted(request, self.choose(&places, place), is_cut);
                Outcome::Granted(self.take(granted, Kind::Granted))
            }
        }
    }

    /// The granules of `extent`, which has to lie within the space.
    pub(super) fn inside(&self, extent: Extent<Iova>) -> Result<Run, ReserveAtError> {
        let wanted = self.granules(extent);
        let (first, end) = wanted.ok_or(ReserveAtError::Ragged(extent))?;
        if first < 0 || (self.owners.len() as i128) < end {
            return Err(ReserveAtError::Outside(self.geometry.extent()));
        }
        Ok(first as usize..end as usize)
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Result<Granted, ReserveAtError> {
        let wanted = self.inside(extent)?;
        if let Some(owner) = self.overlapping((wanted.start as i128, wanted.end as i128)) {
            return Err(ReserveAtError::Occupied(self.extent(&owner)));
        }
        if self.is_full() {
            return Err(ReserveAtError::NoMemory);
        }
        Ok(self.take(Granted::whole(extent), Kind::Granted))
    }

    /// Removes a grant from the list.
    pub(super) fn pick(&mut self, grant: usize) -> Option<(u64, Granted)> {
        let number = grant.checked_rem(self.grants.len())?;
        Some(self.grants.swap_remove(number))
    }

    /// The extent of a grant, if it is still reserved as a whole.
    pub(super) fn run_of(&self, number: u64, granted: &Granted) -> Option<Run> {
        let is_mine = |run: &Run| self.owners[run.start].is_some_and(|own| own.number == number);
        let run = self.runs(false).find(is_mine)?;
        (self.listed(&run) == (granted.extent, Kind::Granted)).then_some(run)
    }

    /// Updates a stale grant if the same extent has been granted again: either grant may release
    /// it.
    fn adopt(&mut self, grant: usize) {
        let Some(number) = grant.checked_rem(self.grants.len()) else {
            return;
        };
        let (_, granted) = self.grants[number];
        let is_twin = |run: &Run| self.listed(run) == (granted.extent, Kind::Granted);
        let twin = self.runs(false).find(is_twin);
        if let Some(owner) = twin.and_then(|run| self.owners[run.start]) {
            self.grants[number].0 = owner.number;
        }
    }

    fn release(&mut self, grant: usize) -> Option<Outcome> {
        let (number, granted) = self.pick(grant)?;
        let Some(run) = self.run_of(number, &granted) else {
            return Some(Outcome::Stale(granted.extent));
        };
        self.owners[run].fill(None);
        Some(Outcome::Released)
    }

    /// The extent that equals `extent`.
    pub(super) fn exactly(&self, extent: Extent<Iova>) -> Result<Run, ReleaseError> {
        let wanted = self.granules(extent).ok_or(ReleaseError::Ragged(extent))?;
        let run = self.overlapping(wanted).ok_or(ReleaseError::NotReserved)?;
        if self.extent(&run) == extent {
            Ok(run)
        } else {
            Err(ReleaseError::Partial(self.extent(&run)))
        }
    }

    fn release_at(&mut self, extent: Extent<Iova>) -> Result<Kind, ReleaseError> {
        let run = self.exactly(extent)?;
        let kind = self.kind(&run);
        self.owners[run].fill(None);
        Ok(kind)
    }

    fn owner(&self, at: Iova) -> Option<(Extent<Iova>, Kind)> {
        let at = i128::from(at.raw()) - i128::from(self.geometry.start);
        let granule = at.div_euclid(i128::from(self.geometry.granule));
        let owner = self.overlapping((granule, granule + 1))?;
        Some(self.listed(&owner))
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Reserve(request, place) => self.reserve(request, *place),
            Operation::ReserveAt(extent) => {
                let granted = self.reserve_at(*extent);
                granted.map_or_else(Outcome::RefusedAt, Outcome::Granted)
            }
            Operation::Fixed(region) => self.fixed(*region).unwrap_or_else(Outcome::RefusedAt),
            Operation::Fill(range) => self.fill(*range).unwrap_or_else(Outcome::RangeRefused),
            Operation::Claim(extent) => {
                let granted = self.claim(*extent);
                granted.map_or_else(Outcome::NotClaimed, Outcome::Granted)
            }
            Operation::Disown(grant) => self.disown(*grant).unwrap_or(Outcome::NoGrant),
            Operation::Release(grant) => self.release(*grant).unwrap_or(Outcome::NoGrant),
            Operation::ReleaseAt(extent) => {
                let kind = self.release_at(*extent);
                kind.map_or_else(Outcome::NotReleased, Outcome::ReleasedAt)
            }
            Operation::ReleasePart(grant, part) => {
                let released = self.release_part(*grant, *part);
                released.unwrap_or(Outcome::NoGrant)
            }
            Operation::ReleaseRange(range) => {
                let pieces = self.release_range(*range);
                pieces.unwrap_or_else(Outcome::RangeRefused)
            }
            Operation::ReleaseUnclaimed => self.release_unclaimed(),
            Operation::Extend(to) => self.extend(*to).unwrap_or_else(Outcome::NotExtended),
            Operation::SaveRestore => self.save_and_restore(),
            Operation::Owner(at) => Outcome::Owner(self.owner(*at)),
            Operation::Reserved => {
                Outcome::Reserved(self.runs(false).map(|run| self.listed(&run)).collect())
            }
            Operation::Free => {
                Outcome::Free(self.runs(true).map(|run| self.extent(&run)).collect())
            }
            Operation::ReservedIn(range) => self.reserved_in(*range),
            Operation::FreeIn(range) => self.free_in(*range),
        }
    }
}

impl Judge for Model {
    fn judge(&mut self, operation: &Operation, found: &Outcome) -> Result<(), Outcome> {
        if let (Operation::Reserve(request, place), Outcome::Granted(granted)) = (operation, found)
            && !self.is_full()
            && self.allows(request, *place, granted)
        {
            self.take(*granted, Kind::Granted);
            return Ok(());
        }
        let is_stale = matches!(
            found,
            Outcome::Stale(_) | Outcome::PartNotReleased(PartError::Stale)
        );
        let grant = match operation {
            Operation::Release(grant)
            | Operation::ReleasePart(grant, _)
            | Operation::Disown(grant) => Some(*grant),
            _ => None,
        };
        if let Some(grant) = grant.filter(|_| !is_stale) {
            self.adopt(grant);
        }
        agree(self.apply(operation), found)
    }
}
