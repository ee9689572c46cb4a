//! A space as data: saved, restored elsewhere, and its extents claimed again.

use alloc::vec::Vec;

use crate::error::{messages, reserved};

use crate::addr::{Address, Extent, Iova};
use crate::iova::search::query::Gap;
use crate::iova::{Config, GeometryError, Kind, ReserveAtError, Space, Standard, Storage};
use crate::rbtree::{NoMemory, NodeId};

/// A saved space: plain numbers, for any format the caller stores them in. With the feature `serde`
/// it can be serialised.
///
/// Its contents are untrusted: [`Space::restore`] refuses any state that no space could have saved.
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
/// // Extents that are still unclaimed are leaks.
/// let mut leaks = Vec::new();
/// new.release_unclaimed(|leak| leaks.push(leak.extent));
/// assert_eq!(leaks, [lost]);
/// # new.release(ring)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// Format of the numbers: [`VERSION`](Self::VERSION).
    pub version: u32,
    /// First byte of the space.
    pub start: u64,
    /// Last byte of the space.
    pub last: u64,
    /// Bytes of a granule.
    pub granule: u64,
    /// Reserved extents, in ascending order.
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

messages! {
    /// Reason why a state was not restored. Variants about an extent contain its index.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum RestoreError {
        /// It was saved with an unknown version.
        Version(n: u32) =>
            "the state has version {n}; this library knows version {}", State::VERSION;
        /// The space ends before it begins.
        NoExtent {
            /// First byte.
            start: u64,
            /// Last byte.
            last: u64,
        } => "the space {start:#x}..={last:#x} is reversed";
        /// No space can have this geometry.
        Geometry(it: GeometryError) => "{it}";
        /// It has more extents than a space can hold.
        TooMany(n: usize) => "the state has {n} extents, more than a space can have";
        /// The extent ends before it begins.
        Empty(n: usize) => "extent {n} ends before it begins";
        /// The extent is not made of whole granules.
        Ragged(n: usize) => "extent {n} does not consist of whole granules";
        /// Part of the extent lies outside the space.
        Outside(n: usize) => "extent {n} is not in the space";
        /// The extent lies below the one before it.
        OutOfOrder(n: usize) => "extent {n} lies below the one before it";
        /// The extent overlaps the one before it.
        Overlap(n: usize) => "extent {n} overlaps the one before it";
        /// The kind has an unknown number.
        Kind(n_0: usize, n: u8) => "extent {n_0} has the unknown kind {n}";
        /// Out of memory for the nodes.
        NoMemory => "out of memory for the nodes";
    }
}

impl State {
    /// The version that is saved, and the only one that can be restored.
    pub const VERSION: u32 = 1;

    fn extent(&self) -> Result<Extent<Iova>, RestoreError> {
        let (start, last) = (self.start, self.last);
        Extent::from_last(Iova::new(start), Iova::new(last))
            .ok_or(RestoreError::NoExtent { start, last })
    }
}

/// The number of nodes for the extents, if a tree can hold so many.
fn count(extents: usize) -> Result<usize, RestoreError> {
    let fits = extents <= NodeId::COUNT_MAX;
    fits.then_some(extents)
        .ok_or(RestoreError::TooMany(extents))
}

impl<S: Storage<Standard>> Space<Standard, S> {
    /// Restores the space saved as `state`, over `nodes`, none of which may be in a tree. Granted
    /// extents become [`Unclaimed`](Kind::Unclaimed) until their owners [claim](Self::claim) them.
    ///
    /// # Errors
    /// See [`RestoreError`].
    ///
    /// # Panics
    /// If a node of `nodes` is in a tree.
    ///
    /// # Cost
    /// O(n log n); one node per extent, all of them obtained before the first one is used.
    pub fn restore(state: &State, nodes: S) -> Result<Self, RestoreError> {
        Self::restore_with_config(state, nodes)
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// A restored space with any configuration; otherwise the same as [`restore`](Space::restore).
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

    /// A saved extent in granules and its kind after restoration; `before` is the extent before it.
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

    /// Saves the space as data. Extents in a quarantine or a magazine are saved as reserved ones.
    /// Empty these first; otherwise the extents are among the [leaks](Self::unclaimed) of the
    /// restored space.
    ///
    /// # Errors
    /// [`NoMemory`] if the list of extents cannot be allocated.
    ///
    /// # Cost
    /// O(n), one allocation.
    pub fn save(&self) -> Result<State, NoMemory> {
        let mut extents = reserved(self.len())?;
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
