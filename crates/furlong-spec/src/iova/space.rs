//! The library's space.

use core::fmt;
use std::collections::BTreeSet;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Best, Config, Grant, Highest, Kind, Lowest, Near, Owned, Random as Draw, Request, ReserveError,
    Reserved, Space, SpaceNode, State, Storage,
};

use super::{Geometry, Granted, Operation, Outcome, Place};
use crate::{Random, Subject};

/// A [`Space`] with any configuration and any array of nodes, and the grants made from it.
pub struct SpaceSubject<C: Config, S: Storage<C> = Vec<SpaceNode<C>>> {
    space: Space<C, S>,
    grants: Vec<Grant>,
    /// Allocates an array of nodes for another space.
    nodes: fn(usize) -> S,
    room: usize,
}

impl<C: Config> SpaceSubject<C> {
    /// An empty space.
    ///
    /// # Panics
    /// If `geometry` is not that of a space.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        Self::over(geometry, |_| Vec::new(), 0)
    }
}

impl<C: Config> SpaceSubject<C, Box<[SpaceNode<C>]>> {
    /// An empty space with memory for `extents` extents.
    ///
    /// # Panics
    /// If `geometry` is not that of a space.
    #[must_use]
    pub fn with_room(geometry: Geometry, extents: usize) -> Self {
        let nodes = |room| {
            let node = SpaceNode::<C>::new(Reserved { start: 0, last: 0 });
            vec![node; room].into_boxed_slice()
        };
        Self::over(geometry, nodes, extents)
    }
}

impl<C: Config, S: Storage<C>> SpaceSubject<C, S> {
    fn over(geometry: Geometry, nodes: fn(usize) -> S, room: usize) -> Self {
        let space = Space::with_config(geometry.extent(), geometry.granule, nodes(room));
        Self {
            space: space.expect("a space is made of whole granules"),
            grants: Vec::new(),
            nodes,
            room,
        }
    }

    /// The space.
    #[must_use]
    pub fn space(&self) -> &Space<C, S> {
        &self.space
    }

    /// A copy of the space: saved, passed through a function, and restored. The copy claims the
    /// grants again, in their order; both lose the stale ones.
    ///
    /// # Panics
    /// If the state that comes back is not that of this space.
    #[must_use]
    pub fn moved(&mut self, through: impl FnOnce(&State) -> State) -> Self {
        let (space, mut seen) = (&self.space, BTreeSet::new());
        // A stale grant holds its extent again if exactly that was granted anew.
        let is_first = |grant: &Grant| space.holds(grant) && seen.insert(grant.index());
        self.grants.retain(is_first);
        let state = self.space.save().expect("there is memory for a list");
        let state = through(&state);
        let restored = Space::restore_with_config(&state, (self.nodes)(self.room));
        let mut space = restored.expect("it is what a space has saved");
        assert!(space.reserved().all(|owned| owned.kind != Kind::Granted));
        let claim = |grant: &Grant| space.claim(grant.extent()).expect("nobody holds it");
        let grants = self.grants.iter().map(claim).collect();
        Self {
            space,
            grants,
            ..*self
        }
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

    /// Adds a grant to the list.
    fn keep(&mut self, grant: Grant) -> Granted {
        let (extent, data) = (grant.extent(), grant.data());
        self.grants.push(grant);
        Granted { extent, data }
    }

    fn granted<E>(&mut self, grant: Result<Grant, E>, refused: fn(E) -> Outcome) -> Outcome {
        match grant {
            Ok(grant) => Outcome::Granted(self.keep(grant)),
            Err(error) => refused(error),
        }
    }

    /// Removes a grant from the list.
    fn pick(&mut self, grant: usize) -> Option<Grant> {
        let number = grant.checked_rem(self.grants.len())?;
        Some(self.grants.swap_remove(number))
    }

    fn release(&mut self, grant: usize) -> Option<Outcome> {
        let grant = self.pick(grant)?;
        Some(match self.space.release(grant) {
            Ok(()) => Outcome::Released,
            Err(stale) => Outcome::Stale(stale.0.extent()),
        })
    }

    fn disown(&mut self, grant: usize) -> Option<Outcome> {
        let grant = self.pick(grant)?;
        Some(match self.space.disown(grant) {
            Ok(extent) => Outcome::Disowned(extent),
            Err(stale) => Outcome::Stale(stale.0.extent()),
        })
    }

    fn release_part(&mut self, grant: usize, part: Extent<Iova>) -> Option<Outcome> {
        let grant = self.pick(grant)?;
        let index = grant.index();
        Some(match self.space.release_part(grant, part) {
            Ok(kept) => {
                let lowest = kept.below.as_ref().or(kept.above.as_ref());
                assert!(lowest.is_none_or(|grant| grant.index() == index));
                let below = kept.below.map(|grant| self.keep(grant));
                Outcome::Kept(below, kept.above.map(|grant| self.keep(grant)))
            }
            Err(refused) => {
                self.grants.push(refused.grant);
                Outcome::PartNotReleased(refused.cause)
            }
        })
    }

    fn fixed(&mut self, region: Extent<Iova>) -> Outcome {
        let mut added = Vec::new();
        let count = self.space.reserve_fixed(region, |part| added.push(part));
        counted(count, added, Outcome::Parts, Outcome::RefusedAt)
    }

    fn fill(&mut self, range: Extent<Iova>) -> Outcome {
        let before = self.grants.len();
        let grants = &mut self.grants;
        let count = self.space.fill(range, |grant| grants.push(grant));
        let filled = self.grants[before..].iter();
        let filled = filled
            .map(|grant| {
                assert_eq!(grant.data(), grant.extent(), "all of it is data");
                grant.extent()
            })
            .collect();
        counted(count, filled, Outcome::Parts, Outcome::RangeRefused)
    }

    fn release_range(&mut self, range: Extent<Iova>) -> Outcome {
        let owners = self.space.reserved_in(range);
        let owners: Vec<Owned> = owners.filter(|it| it.kind != Kind::Fixed).collect();
        let mut pieces = Vec::new();
        let count = self.space.release_range(range, |owned| {
            assert_eq!(owned.index, owners[pieces.len()].index, "its owner's");
            pieces.push((owned.extent, owned.kind));
        });
        if let (Some(first), Some((piece, _))) = (owners.first(), pieces.first())
            && first.extent.start() < piece.start()
        {
            let rest = self.space.owner(first.extent.start());
            assert_eq!(rest.map(|rest| rest.index), Some(first.index));
        }
        counted(count, pieces, Outcome::Pieces, Outcome::RangeRefused)
    }

    fn release_unclaimed(&mut self) -> Outcome {
        let unclaimed: Vec<_> = self.space.unclaimed().collect();
        let mut pieces = Vec::new();
        let count = self.space.release_unclaimed(|owned| {
            assert_eq!(owned, unclaimed[pieces.len()], "it was listed");
            pieces.push((owned.extent, owned.kind));
        });
        counted::<_, ReserveError>(Ok(count), pieces, Outcome::Pieces, Outcome::Refused)
    }

    fn save_and_restore(&mut self) -> Outcome {
        let state = self.space.save().expect("there is memory for a list");
        let restored = Space::restore_with_config(&state, (self.nodes)(self.room));
        self.space = restored.expect("it is what a space has saved");
        self.grants.clear();
        Outcome::Restored
    }

    fn reserved(&self) -> impl DoubleEndedIterator<Item = (Extent<Iova>, Kind)> + '_ {
        self.space
            .reserved()
            .map(|owned| (owned.extent, owned.kind))
    }

    /// Checks that extents and gaps together make up the space, and that no two gaps are adjacent.
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

    /// Checks that iteration and look-up agree, and that no two extents have the same index.
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

/// The outcome of a call that passed its results to a callback. Asserts that the count returned is
/// the number of calls, 0 after an error.
fn counted<T, E>(
    count: Result<usize, E>,
    handed: Vec<T>,
    done: fn(Vec<T>) -> Outcome,
    refused: fn(E) -> Outcome,
) -> Outcome {
    let expected = count.as_ref().map_or(0, |count| *count);
    assert_eq!(handed.len(), expected, "as many as were handed out");
    match count {
        Ok(_) => done(handed),
        Err(error) => refused(error),
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
            Operation::Reserve(request, place) => {
                let grant = self.reserve(request, *place);
                self.granted(grant, Outcome::Refused)
            }
            Operation::ReserveAt(extent) => {
                let grant = self.space.reserve_at(*extent);
                self.granted(grant, Outcome::RefusedAt)
            }
            Operation::Fixed(region) => self.fixed(*region),
            Operation::Fill(range) => self.fill(*range),
            Operation::Claim(extent) => {
                let grant = self.space.claim(*extent);
                self.granted(grant, Outcome::NotClaimed)
            }
            Operation::Disown(grant) => self.disown(*grant).unwrap_or(Outcome::NoGrant),
            Operation::Release(grant) => self.release(*grant).unwrap_or(Outcome::NoGrant),
            Operation::ReleaseAt(extent) => {
                let kind = self.space.release_at(*extent);
                kind.map_or_else(Outcome::NotReleased, Outcome::ReleasedAt)
            }
            Operation::ReleasePart(grant, part) => {
                let released = self.release_part(*grant, *part);
                released.unwrap_or(Outcome::NoGrant)
            }
            Operation::ReleaseRange(range) => self.release_range(*range),
            Operation::ReleaseUnclaimed => self.release_unclaimed(),
            Operation::Extend(to) => {
                let extended = self.space.extend(*to);
                extended.map_or_else(Outcome::NotExtended, |()| Outcome::Extended)
            }
            Operation::SaveRestore => self.save_and_restore(),
            Operation::Owner(at) => {
                let owned = self.space.owner(*at);
                Outcome::Owner(owned.map(|owned| (owned.extent, owned.kind)))
            }
            Operation::Reserved => Outcome::Reserved(self.reserved().collect()),
            Operation::Free => Outcome::Free(self.space.free().collect()),
            Operation::ReservedIn(range) => {
                let owned = self.space.reserved_in(*range);
                Outcome::Reserved(owned.map(|owned| (owned.extent, owned.kind)).collect())
            }
            Operation::FreeIn(range) => Outcome::Free(self.space.free_in(*range).collect()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let checked = self.space.check().map_err(|broken| broken.to_string());
        checked?;
        self.check_partition()?;
        self.check_owners()
    }
}
