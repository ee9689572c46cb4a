//! A space as data: saved, restored elsewhere, claimed again by those who held its extents.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use super::query::Gap;
use super::{Config, GeometryError, Kind, ReserveAtError, Space, Standard, Storage};
use crate::addr::{Address, Extent, Iova};
use crate::rbtree::{NoMemory, NodeId};

/// A saved space: plain numbers, for whatever format the caller keeps them in. With the feature
/// `serde` it can be serialised.
///
/// Nothing in it is trusted: [`Space::restore`] refuses whatever no space could have saved.
///
/// # Example
/// A service hands its space to the next version of itself:
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Lowest, Request, Space, State, VecSpace};
///
/// let all = Extent::from_len(Iova::new(0), 1 << 32).unwrap();
/// let mut old = VecSpace::new(all, 4096, Vec::new())?;
/// let ring = old.reserve(&Request::new(0x4000), Lowest)?.extent();
/// let lost = old.reserve(&Request::new(0x1000), Lowest)?.extent();
/// let state: State = old.save()?;
///
/// let mut new = Space::restore(&state, Vec::new())?;
/// let ring = new.claim(ring)?;
/// // What nobody has claimed by now is a leak.
/// let mut leaks = Vec::new();
/// new.release_unclaimed(|leak| leaks.push(leak.extent));
/// assert_eq!(leaks, [lost]);
/// # new.release(ring)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// What the numbers mean: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// First byte of the space.
    pub start: u64,
    /// Last byte of the space.
    pub last: u64,
    /// Bytes of a granule.
    pub granule: u64,
    /// What is reserved, in ascending order.
    pub extents: Vec<SavedExtent>,
}

/// A reserved extent in a [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedExtent {
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub last: u64,
    /// The number of its [`Kind`].
    pub kind: u8,
}

/// Why a state was not restored. Those about an extent have its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// It was saved by a version that this one does not know.
    Version(u32),
    /// The space ends before it begins.
    NoExtent {
        /// First byte.
        start: u64,
        /// Last byte.
        last: u64,
    },
    /// There can be no such space.
    Geometry(GeometryError),
    /// There are more extents than any space can have.
    TooMany(usize),
    /// The extent ends before it begins.
    Empty(usize),
    /// The extent is not made of whole granules.
    Ragged(usize),
    /// Part of the extent lies outside the space.
    Outside(usize),
    /// The extent lies below the one before it.
    OutOfOrder(usize),
    /// The extent overlaps the one before it.
    Overlap(usize),
    /// There is no such kind.
    Kind(usize, u8),
    /// There is no memory for the nodes.
    NoMemory,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(found) => {
                let known = State::VERSION;
                write!(f, "the state is of version {found}, known is {known}")
            }
            Self::NoExtent { start, last } => {
                write!(f, "the space {start:#x}..={last:#x} is reversed")
            }
            Self::Geometry(error) => error.fmt(f),
            Self::TooMany(extents) => write!(f, "no space has {extents} extents"),
            Self::Empty(index) => write!(f, "extent {index} ends before it begins"),
            Self::Ragged(index) => write!(f, "extent {index} is not made of whole granules"),
            Self::Outside(index) => write!(f, "extent {index} is not in the space"),
            Self::OutOfOrder(index) => write!(f, "extent {index} lies below the one before it"),
            Self::Overlap(index) => write!(f, "extent {index} overlaps the one before it"),
            Self::Kind(index, kind) => write!(f, "extent {index} has the unknown kind {kind}"),
            Self::NoMemory => f.write_str("there is no memory for the nodes"),
        }
    }
}

impl Error for RestoreError {}

impl State {
    /// The version that is saved, and the only one that is restored.
    pub const VERSION: u32 = 1;

    fn extent(&self) -> Result<Extent<Iova>, RestoreError> {
        let (start, last) = (self.start, self.last);
        Extent::from_last(Iova::new(start), Iova::new(last))
            .ok_or(RestoreError::NoExtent { start, last })
    }
}

/// As many nodes as there are extents, if a tree can have that many.
fn count(extents: usize) -> Result<usize, RestoreError> {
    let fits = extents <= NodeId::COUNT_MAX;
    fits.then_some(extents)
        .ok_or(RestoreError::TooMany(extents))
}

impl<S: Storage<Standard>> Space<Standard, S> {
    /// The space that was saved as `state`, over `nodes`, all of which are in no tree. What was
    /// granted is [`Unclaimed`](Kind::Unclaimed) until somebody [claims](Self::claim) it.
    ///
    /// # Errors
    /// See [`RestoreError`].
    ///
    /// # Panics
    /// If a node of `nodes` is in a tree.
    ///
    /// # Cost
    /// O(n log n); as many nodes as extents, all of them obtained before the first one is used.
    pub fn restore(state: &State, nodes: S) -> Result<Self, RestoreError> {
        Self::restore_with_config(state, nodes)
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// A restored space with any configuration; otherwise as [`restore`](Space::restore).
    ///
    /// # Errors
    /// See [`RestoreError`].
    ///
    /// # Panics
    /// If a node of `nodes` is in a tree.
    pub fn restore_with_config(state: &State, nodes: S) -> Result<Self, RestoreError> {
        if state.version != State::VERSION {
            return Err(RestoreError::Version(state.version));
        }
        let space = Self::with_config(state.extent()?, state.granule, nodes);
        let mut space = space.map_err(RestoreError::Geometry)?;
        let nodes = count(state.extents.len())?;
        let mut before = None;
        for (index, saved) in state.extents.iter().enumerate() {
            before = Some(space.validate(index, saved, before)?.0);
        }
        space.prepare(nodes).map_err(|_| RestoreError::NoMemory)?;
        let mut before = None;
        for (index, saved) in state.extents.iter().enumerate() {
            let (gap, kind) = space.validate(index, saved, before)?;
            let linked = space.link(gap, None, kind);
            linked.expect("memory was there before the first one");
            before = Some(gap);
        }
        Ok(space)
    }

    /// A saved extent in granules, and what it is restored as; `before` is the one before it.
    fn validate(
        &self,
        index: usize,
        saved: &SavedExtent,
        before: Option<Gap>,
    ) -> Result<(Gap, Kind), RestoreError> {
        let [start, last] = [saved.start, saved.last].map(Iova::new);
        let extent = Extent::from_last(start, last).ok_or(RestoreError::Empty(index))?;
        let gap = self.inside(extent).map_err(|error| match error {
            ReserveAtError::Ragged(_) => RestoreError::Ragged(index),
            _ => RestoreError::Outside(index),
        })?;
        let kind = Kind::from_number(saved.kind).ok_or(RestoreError::Kind(index, saved.kind))?;
        match before {
            Some(before) if gap.last < before.first => Err(RestoreError::OutOfOrder(index)),
            Some(before) if gap.first <= before.last => Err(RestoreError::Overlap(index)),
            _ if kind == Kind::Granted => Ok((gap, Kind::Unclaimed)),
            _ => Ok((gap, kind)),
        }
    }

    /// The space as data. What lies in a quarantine or a magazine is reserved like anything else:
    /// whoever restores the space finds it among the [leaks](Self::unclaimed) unless these were
    /// emptied before.
    ///
    /// # Errors
    /// [`NoMemory`] if there is none for the list of extents.
    ///
    /// # Cost
    /// O(n), one allocation.
    pub fn save(&self) -> Result<State, NoMemory> {
        let mut extents = Vec::new();
        let room = extents.try_reserve_exact(self.len());
        room.map_err(|_| NoMemory)?;
        extents.extend(self.reserved().map(|owned| SavedExtent {
            start: owned.extent.start().raw(),
            last: owned.extent.last().raw(),
            kind: owned.kind as u8,
        }));
        let all = self.extent();
        Ok(State {
            version: State::VERSION,
            start: all.start().raw(),
            last: all.last().raw(),
            granule: self.granule(),
            extents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeId, RestoreError, count};

    #[test]
    fn more_extents_than_a_tree_has_names_for_are_too_many() {
        assert_eq!(count(NodeId::COUNT_MAX), Ok(NodeId::COUNT_MAX));
        let more = NodeId::COUNT_MAX + 1;
        assert_eq!(count(more), Err(RestoreError::TooMany(more)));
    }
}
