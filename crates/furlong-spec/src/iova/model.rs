//! The naive model: an owner for each granule, and every answer by trying every place.
//!
//! What suits a request is said here once more, in bytes, and with nothing of the library's
//! arithmetic: [`Model::suits`] is the definition.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Kind, LOOKS, ReleaseError, Request, ReserveAtError, ReserveError, Split};

use super::{Geometry, Granted, Operation, Outcome, Place};
use crate::{Judge, Subject};

/// Who has a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    /// No other extent has had this number.
    number: u64,
    kind: Kind,
}

/// What a subject promises of its choice where an alignment or a boundary leaves places out of
/// gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The choice among all, whatever is asked.
    Exact,
    /// The choice among all if no more than [`LOOKS`] gaps are large enough, or if the alignment is
    /// below 2 to the power of so many granules, with no boundary and no guard before; else any
    /// place.
    Looks(u32),
}

/// An owner for each granule.
#[derive(Clone, Debug)]
pub struct Model {
    geometry: Geometry,
    promise: Promise,
    owners: Vec<Option<Owner>>,
    /// Grants and the number of what they stand for.
    grants: Vec<(u64, Granted)>,
    /// The next extent's number.
    next: u64,
    /// How many extents there is memory for.
    room: usize,
}

/// Granules, from the first to the one before the last number.
type Run = core::ops::Range<usize>;

impl Model {
    /// Nothing reserved.
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

    /// Memory for `extents` only.
    #[must_use]
    pub fn with_room(mut self, extents: usize) -> Self {
        self.room = extents;
        self
    }

    /// How many grants there are, those that stand for nothing any more among them.
    #[must_use]
    pub fn grants(&self) -> usize {
        self.grants.len()
    }

    /// Whether the request may lie at granule `at`, with its boundary or as if it had none.
    fn suits(&self, request: &Request, is_bounded: bool, at: usize) -> bool {
        let start = self.geometry.byte(at);
        let first = start + u128::from(request.offset);
        let last = first + u128::from(request.size) - 1;
        let wide = |address: Iova| u128::from(address.raw());
        let is_aligned = start.is_multiple_of(u128::from(request.align));
        let is_in_window = start >= wide(request.low) && last <= wide(request.high);
        let is_allowed = match request.exclusion {
            Some((low, high)) if low < high => last <= wide(low) || start > wide(high),
            _ => true,
        };
        let is_whole = match request.boundary.map(u128::from) {
            Some(boundary) if is_bounded => first / boundary == last / boundary,
            _ => true,
        };
        if !(is_aligned && is_in_window && is_allowed && is_whole) {
            return false;
        }
        let before = (at as u128).checked_sub(u128::from(request.guard.before));
        let len = (u128::from(request.offset) + u128::from(request.size))
            .div_ceil(u128::from(self.geometry.granule));
        let behind = at as u128 + len + u128::from(request.guard.after);
        match before {
            Some(before) if behind <= self.owners.len() as u128 => {
                let beside = &self.owners[before as usize..behind as usize];
                beside.iter().all(Option::is_none)
            }
            _ => false,
        }
    }

    /// All places, in order.
    fn places(&self, request: &Request, is_bounded: bool) -> Vec<usize> {
        let all = 0..self.owners.len();
        all.filter(|at| self.suits(request, is_bounded, *at))
            .collect()
    }

    /// Stretches of granules that are free, or that are not, in order; extents apart.
    fn runs(&self, is_free: bool) -> impl Iterator<Item = Run> + '_ {
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

    /// The gap that has granule `at`.
    fn gap(&self, at: usize) -> Run {
        let mut gaps = self.runs(true);
        gaps.find(|gap| gap.contains(&at)).expect("it is free")
    }

    fn extent(&self, run: &Run) -> Extent<Iova> {
        let extent = self.geometry.granules(run.start, run.len());
        extent.expect("the granules of a space are in 64 bits")
    }

    /// The granules of `extent`, if it is made of whole ones; those beyond the space count on.
    fn granules(&self, extent: Extent<Iova>) -> Option<(i128, i128)> {
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

    fn kind(&self, run: &Run) -> Kind {
        self.owners[run.start].expect("it is reserved").kind
    }

    /// What is wrong with the request in itself.
    fn mistake(&self, request: &Request) -> Option<ReserveError> {
        let is_power = |number: u64| number.count_ones() == 1;
        let (low, high) = (request.low, request.high);
        let bad_boundary = request.boundary.filter(|boundary| !is_power(*boundary));
        if request.size == 0 {
            Some(ReserveError::ZeroSize)
        } else if !is_power(request.align) {
            Some(ReserveError::Align(request.align))
        } else if request.offset >= self.geometry.granule {
            Some(ReserveError::Offset(request.offset))
        } else if let Some(boundary) = bad_boundary {
            Some(ReserveError::Boundary(boundary))
        } else if low > high {
            Some(ReserveError::Window { low, high })
        } else if self.span(request).is_none() {
            Some(ReserveError::TooLarge(request.size))
        } else {
            None
        }
    }

    /// Granules that a gap must have: those of the data, and the guards. None where bytes or
    /// granules are no number of 64 bits.
    fn span(&self, request: &Request) -> Option<u64> {
        let bytes = request.offset.checked_add(request.size - 1)?;
        let data = u128::from(bytes / self.geometry.granule) + 1;
        let guards = u128::from(request.guard.before) + u128::from(request.guard.after);
        u64::try_from(data + guards).ok()
    }

    /// All places for a request, and whether it is cut there.
    fn all_places(&self, request: &Request) -> Result<(Vec<usize>, bool), ReserveError> {
        if let Some(mistake) = self.mistake(request) {
            return Err(mistake);
        }
        let whole = self.places(request, true);
        if !whole.is_empty() {
            return Ok((whole, false));
        }
        if let Some(boundary) = request.boundary {
            if request.split == Split::AtBoundary {
                let cut = self.places(request, false);
                if !cut.is_empty() {
                    return Ok((cut, true));
                }
            // At 0, a multiple of everything, the data has as far to go as anywhere.
            } else if request.offset / boundary != (request.offset + (request.size - 1)) / boundary
            {
                let size = request.size;
                return Err(ReserveError::CrossesBoundary { size, boundary });
            }
        }
        let bytes = |granules: u64| granules.saturating_mul(self.geometry.granule);
        Err(ReserveError::NoSpace {
            wanted: bytes(self.span(request).expect("it has been looked at")),
            largest: bytes(
                self.runs(true)
                    .map(|gap| gap.len() as u64)
                    .max()
                    .unwrap_or(0),
            ),
        })
    }

    /// The place that the policy takes.
    fn choose(&self, places: &[usize], place: Place) -> usize {
        let granule = |at: usize| self.geometry.byte(at) / u128::from(self.geometry.granule);
        let chosen = match place {
            Place::Lowest | Place::Random(_) => places.iter().min(),
            Place::Highest => places.iter().max(),
            Place::Near(hint) => {
                let hint = u128::from(hint.raw() / self.geometry.granule);
                places.iter().min_by_key(|at| granule(**at).abs_diff(hint))
            }
            Place::Best => places.iter().min_by_key(|at| self.gap(**at).len()),
        };
        *chosen.expect("there is a place")
    }

    /// Whether the policy takes the very place that it stands for.
    fn is_exact(&self, request: &Request, place: Place) -> bool {
        let is_everywhere = request.align <= self.geometry.granule && request.boundary.is_none();
        let span = self.span(request);
        let is_enough = |gap: &Run| Some(gap.len() as u64) >= span;
        match (place, self.promise) {
            (Place::Random(_), _) => false,
            (Place::Best, _) | (_, Promise::Exact) => true,
            (_, Promise::Looks(orders)) => {
                let is_run = request.boundary.is_none() && request.guard.before == 0;
                let order = (request.align / self.geometry.granule).checked_ilog2();
                is_everywhere
                    || is_run && order.is_some_and(|order| order < orders)
                    || self.runs(true).filter(is_enough).count() <= LOOKS as usize
            }
        }
    }

    /// What is granted at granule `at`.
    fn granted(&self, request: &Request, at: usize, is_cut: bool) -> Granted {
        let start = self.geometry.byte(at);
        let first = start + u128::from(request.offset);
        let mut end = first + u128::from(request.size);
        if let (true, Some(boundary)) = (is_cut, request.boundary) {
            end = (first / u128::from(boundary) + 1) * u128::from(boundary);
        }
        let granules = (end - start).div_ceil(u128::from(self.geometry.granule));
        let data = Extent::from_last(Iova::new(first as u64), Iova::new((end - 1) as u64));
        Granted {
            extent: self.extent(&(at..at + granules as usize)),
            data: data.expect("it has a byte"),
        }
    }

    /// Reserves `granted`.
    fn take(&mut self, granted: Granted, kind: Kind) {
        let number = self.next;
        let granules = self.granules(granted.extent);
        let (first, end) = granules.expect("grants are whole granules");
        self.owners[first as usize..end as usize].fill(Some(Owner { number, kind }));
        if kind == Kind::Granted {
            self.grants.push((number, granted));
        }
        self.next += 1;
    }

    fn is_full(&self) -> bool {
        self.runs(false).count() >= self.room
    }

    fn reserve(&mut self, request: &Request, place: Place) -> Outcome {
        match self.all_places(request) {
            Err(error) => Outcome::Refused(error),
            Ok(_) if self.is_full() => Outcome::Refused(ReserveError::NoMemory),
            Ok((places, is_cut)) => {
                let granted = self.granted(request, self.choose(&places, place), is_cut);
                self.take(granted, Kind::Granted);
                Outcome::Granted(granted)
            }
        }
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Result<Granted, ReserveAtError> {
        let wanted = self.granules(extent);
        let (first, end) = wanted.ok_or(ReserveAtError::Ragged(extent))?;
        if first < 0 || (self.owners.len() as i128) < end {
            return Err(ReserveAtError::Outside(self.geometry.extent()));
        }
        if let Some(owner) = self.overlapping((first, end)) {
            return Err(ReserveAtError::Occupied(self.extent(&owner)));
        }
        if self.is_full() {
            return Err(ReserveAtError::NoMemory);
        }
        let data = extent;
        self.take(Granted { extent, data }, Kind::Granted);
        Ok(Granted { extent, data })
    }

    fn release(&mut self, grant: usize) -> Outcome {
        if self.grants.is_empty() {
            return Outcome::NoGrant;
        }
        let (number, granted) = self.grants.swap_remove(grant % self.grants.len());
        let is_mine = |owner: Owner| owner.number == number;
        let mine = self
            .runs(false)
            .find(|run| self.owners[run.start].is_some_and(is_mine));
        match mine.filter(|run| self.extent(run) == granted.extent) {
            Some(run) => {
                self.owners[run].fill(None);
                Outcome::Released
            }
            None => Outcome::Stale(granted.extent),
        }
    }

    /// Releases exactly `extent`, if it is granted. A grant whose extent has been released by its
    /// address, and then granted again just as it was, may stand for that one.
    fn release_twin(&mut self, extent: Extent<Iova>) -> bool {
        let is_twin = |run: &Run| self.kind(run) == Kind::Granted && self.extent(run) == extent;
        let twin = self.runs(false).find(is_twin);
        let is_there = twin.is_some();
        self.owners[twin.unwrap_or_default()].fill(None);
        is_there
    }

    fn release_at(&mut self, extent: Extent<Iova>) -> Result<Kind, ReleaseError> {
        let wanted = self.granules(extent).ok_or(ReleaseError::Ragged(extent))?;
        let run = self.overlapping(wanted).ok_or(ReleaseError::NotReserved)?;
        if self.extent(&run) != extent {
            return Err(ReleaseError::Partial(self.extent(&run)));
        }
        let kind = self.kind(&run);
        self.owners[run].fill(None);
        Ok(kind)
    }

    /// Whether `granted` is what may be answered.
    fn allows(&self, request: &Request, place: Place, granted: &Granted) -> bool {
        let Ok((places, is_cut)) = self.all_places(request) else {
            return false;
        };
        let is_it = |at: &&usize| self.granted(request, **at, is_cut) == *granted;
        let found = places.iter().find(is_it);
        let chosen = || self.choose(&places, place);
        found.is_some_and(|at| !self.is_exact(request, place) || *at == chosen())
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let listed = |run: &Run| (self.extent(run), self.kind(run));
        match operation {
            Operation::Owner(at) => {
                let at = i128::from(at.raw()) - i128::from(self.geometry.start);
                let granule = at.div_euclid(i128::from(self.geometry.granule));
                let owner = self.overlapping((granule, granule + 1));
                Outcome::Owner(owner.as_ref().map(listed))
            }
            Operation::Reserved => {
                Outcome::Reserved(self.runs(false).map(|run| listed(&run)).collect())
            }
            Operation::Free => {
                Outcome::Free(self.runs(true).map(|run| self.extent(&run)).collect())
            }
            Operation::Reserve(request, place) => self.reserve(request, *place),
            Operation::ReserveAt(extent) => match self.reserve_at(*extent) {
                Ok(granted) => Outcome::Granted(granted),
                Err(error) => Outcome::RefusedAt(error),
            },
            Operation::Release(grant) => self.release(*grant),
            Operation::ReleaseAt(extent) => match self.release_at(*extent) {
                Ok(kind) => Outcome::ReleasedAt(kind),
                Err(error) => Outcome::NotReleased(error),
            },
        }
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
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
        let expected = self.apply(operation);
        match (&expected, found) {
            (Outcome::Stale(extent), Outcome::Released) if self.release_twin(*extent) => Ok(()),
            _ if expected == *found => Ok(()),
            _ => Err(expected),
        }
    }
}
