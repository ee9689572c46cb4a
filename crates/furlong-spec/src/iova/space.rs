//! The library's space.
#![forbid(unsafe_code)]

use core::fmt;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Best, Config, Grant, Highest, Kind, Lowest, Near, Random as Draw, Request, ReserveError,
    Reserved, Space, SpaceNode, Storage, VecSpace,
};

use super::{Geometry, Granted, Operation, Outcome, Place};
use crate::{Random, Subject};

/// A [`Space`] with any configuration, over any array of nodes, and the grants that it has made.
pub struct SpaceSubject<C: Config, S: Storage<C> = Vec<SpaceNode<C>>> {
    space: Space<C, S>,
    grants: Vec<Grant>,
}

impl<C: Config> SpaceSubject<C> {
    /// Nothing reserved.
    ///
    /// # Panics
    /// If `geometry` is none of a space.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        Self::over(geometry, Vec::new())
    }

    /// What is reserved in `space` has no grant.
    #[must_use]
    pub fn of(space: VecSpace<C>) -> Self {
        let grants = Vec::new();
        Self { space, grants }
    }
}

impl<C: Config> SpaceSubject<C, Box<[SpaceNode<C>]>> {
    /// Nothing reserved, and memory for so many extents.
    ///
    /// # Panics
    /// If `geometry` is none of a space.
    #[must_use]
    pub fn with_room(geometry: Geometry, extents: usize) -> Self {
        let node = SpaceNode::<C>::new(Reserved { start: 0, last: 0 });
        let nodes = core::iter::repeat_n(node, extents);
        Self::over(geometry, nodes.collect())
    }
}

impl<C: Config, S: Storage<C>> SpaceSubject<C, S> {
    fn over(geometry: Geometry, nodes: S) -> Self {
        let space = Space::with_config(geometry.extent(), geometry.granule, nodes);
        Self {
            space: space.expect("a space is made of whole granules"),
            grants: Vec::new(),
        }
    }

    /// The space.
    #[must_use]
    pub fn space(&self) -> &Space<C, S> {
        &self.space
    }

    fn reserve(&mut self, request: &Request, place: Place) -> Result<Grant, ReserveError> {
        match place {
            Place::Lowest => self.space.reserve(request, Lowest),
            Place::Highest => self.space.reserve(request, Highest),
            Place::Near(hint) => self.space.reserve(request, Near(hint)),
            Place::Best => self.space.reserve(request, Best),
            Place::Random(seed) => {
                let mut random = Random::new(seed);
                self.space.reserve(request, Draw::new(|| random.next()))
            }
        }
    }

    fn granted(&mut self, grant: Grant) -> Outcome {
        let (extent, data) = (grant.extent(), grant.data());
        self.grants.push(grant);
        Outcome::Granted(Granted { extent, data })
    }

    fn release(&mut self, grant: usize) -> Outcome {
        if self.grants.is_empty() {
            return Outcome::NoGrant;
        }
        let grant = self.grants.swap_remove(grant % self.grants.len());
        match self.space.release(grant) {
            Ok(()) => Outcome::Released,
            Err(stale) => Outcome::Stale(stale.0.extent()),
        }
    }

    fn reserved(&self) -> impl DoubleEndedIterator<Item = (Extent<Iova>, Kind)> + '_ {
        self.space
            .reserved()
            .map(|owned| (owned.extent, owned.kind))
    }

    /// What is reserved and what is free make up the space, with two gaps never beside each other.
    fn check_partition(&self) -> Result<(), String> {
        let reserved = self.reserved().map(|(extent, _)| (extent, false));
        let mut all: Vec<_> = reserved
            .chain(self.space.free().map(|gap| (gap, true)))
            .collect();
        all.sort_by_key(|(extent, _)| extent.start());
        let mut next = Some(self.space.extent().start());
        let mut after_gap = false;
        for (extent, is_gap) in &all {
            if Some(extent.start()) != next || after_gap && *is_gap {
                return Err(format!(
                    "{extent:?} does not follow what is before it: {all:?}"
                ));
            }
            next = extent.end();
            after_gap = *is_gap;
        }
        if next != self.space.extent().end() {
            return Err(format!("the space ends at {next:?}: {all:?}"));
        }
        Ok(())
    }

    /// Iteration and look-ups agree, and no two extents have one index.
    fn check_owners(&self) -> Result<(), String> {
        let forward: Vec<_> = self.reserved().collect();
        let backward: Vec<_> = self.reserved().rev().collect();
        if !forward.iter().eq(backward.iter().rev()) || forward.len() != self.space.len() {
            return Err(format!("{} of {forward:?}, {backward:?}", self.space.len()));
        }
        let mut indices: Vec<usize> = self.space.reserved().map(|owned| owned.index).collect();
        indices.sort_unstable();
        indices.dedup();
        if indices.len() != forward.len() {
            return Err(format!("{indices:?} are the indices of {forward:?}"));
        }
        for grant in self.grants.iter().filter(|grant| self.space.holds(grant)) {
            let owned = self.space.owner(grant.iova());
            let is_its = owned.is_some_and(|owned| {
                (owned.index, owned.extent) == (grant.index(), grant.extent())
            });
            if !is_its {
                return Err(format!("{grant:?} is owned by {owned:?}"));
            }
        }
        Ok(())
    }
}

impl<C: Config, S: Storage<C>> fmt::Debug for SpaceSubject<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.space.fmt(f)
    }
}

impl<C: Config, S: Storage<C>> Subject for SpaceSubject<C, S> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Reserve(request, place) => match self.reserve(request, *place) {
                Ok(grant) => self.granted(grant),
                Err(error) => Outcome::Refused(error),
            },
            Operation::ReserveAt(extent) => match self.space.reserve_at(*extent) {
                Ok(grant) => self.granted(grant),
                Err(error) => Outcome::RefusedAt(error),
            },
            Operation::Release(grant) => self.release(*grant),
            Operation::ReleaseAt(extent) => match self.space.release_at(*extent) {
                Ok(kind) => Outcome::ReleasedAt(kind),
                Err(error) => Outcome::NotReleased(error),
            },
            Operation::Owner(at) => {
                let owned = self.space.owner(*at);
                Outcome::Owner(owned.map(|owned| (owned.extent, owned.kind)))
            }
            Operation::Reserved => Outcome::Reserved(self.reserved().collect()),
            Operation::Free => Outcome::Free(self.space.free().collect()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let checked = self.space.check().map_err(|broken| broken.to_string());
        checked?;
        self.check_partition()?;
        self.check_owners()
    }
}
