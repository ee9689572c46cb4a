//! The definition of a suitable place, by trying every one.

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{LOOKS, Request, ReserveError, Split};

use super::model::{Model, Promise, Run};
use super::{Granted, Place};

impl Model {
    /// True if the request fits at granule `at`, with or without regard to its boundary.
    pub(super) fn suits(&self, request: &Request, is_bounded: bool, at: usize) -> bool {
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

    /// All places for the request, in order.
    pub(super) fn places(&self, request: &Request, is_bounded: bool) -> Vec<usize> {
        let all = 0..self.owners.len();
        all.filter(|at| self.suits(request, is_bounded, *at))
            .collect()
    }

    /// The mistake in the request's arguments, if there is one.
    pub(super) fn mistake(&self, request: &Request) -> Option<ReserveError> {
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

    /// The granules that a gap must have, for the data and the guards. `None` if the bytes or
    /// granules exceed 64 bits.
    pub(super) fn span(&self, request: &Request) -> Option<u64> {
        let bytes = request.offset.checked_add(request.size - 1)?;
        let data = u128::from(bytes / self.geometry.granule) + 1;
        let guards = u128::from(request.guard.before) + u128::from(request.guard.after);
        u64::try_from(data + guards).ok()
    }

    /// All places for a request, and whether it is cut there.
    pub(super) fn all_places(&self, request: &Request) -> Result<(Vec<usize>, bool), ReserveError> {
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
            // The test for the data at 0, a multiple of every boundary, holds for every place.
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

    /// The place that the policy chooses.
    pub(super) fn choose(&self, places: &[usize], place: Place) -> usize {
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

    /// True if the promise requires the policy's own choice.
    pub(super) fn is_exact(&self, request: &Request, place: Place) -> bool {
        let (declared, known) = match (place, self.promise) {
            (Place::Random(_), _) => return false,
            (Place::Best, _) | (_, Promise::Exact) => return true,
            (_, Promise::Looks(orders)) => (None, orders),
            (_, Promise::Bounded(order)) => (self.geometry.granule.checked_shl(order), 0),
        };
        let guard = request.guard;
        let is_aligned = request.align > self.geometry.granule;
        let is_known = match request.boundary {
            None if !is_aligned => true,
            None => {
                let align = request.align / self.geometry.granule;
                let is_whole = self.span(request) == Some(align);
                guard.before == 0 && (is_whole || align.ilog2() < known)
            }
            bound => !is_aligned && bound == declared && guard.before.max(guard.after) <= 1,
        };
        let span = self.span(request);
        let is_enough = |gap: &Run| Some(gap.len() as u64) >= span;
        is_known || self.runs(true).filter(is_enough).count() <= LOOKS as usize
    }

    /// The grant at granule `at`.
    pub(super) fn granted(&self, request: &Request, at: usize, is_cut: bool) -> Granted {
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

    /// True if the promise allows the grant `granted`.
    pub(super) fn allows(&self, request: &Request, place: Place, granted: &Granted) -> bool {
        let Ok((places, is_cut)) = self.all_places(request) else {
            return false;
        };
        let is_it = |at: &&usize| self.granted(request, **at, is_cut) == *granted;
        let found = places.iter().find(is_it);
        let chosen = || self.choose(&places, place);
        found.is_some_and(|at| !self.is_exact(request, place) || *at == chosen())
    }
}
