//! A map from device addresses to values, for an IOTLB or an IOMMU's table of mappings.
#![forbid(unsafe_code)]

mod check;
mod entry;
mod range;

use core::error::Error;
use core::fmt;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::Standard;
use super::space::spare::Spare;
use crate::addr::{Address, Extent, Iova, debug_without_value};
use crate::rbtree::{self, Arena, NoMemory, NodeId, RbTree, Store};

pub use check::BrokenMap;
pub use entry::{Entries, Entry, MapNode};
pub use range::{CUT_RANGE_NODES, Straddles};

/// A map whose nodes live in a `Vec`.
#[cfg(feature = "alloc")]
pub type VecMap<V, C = Standard> = Map<V, Vec<MapNode<V>>, C>;

/// Values at extents of device addresses, in bytes, that do not overlap: the addresses that a
/// device may reach, and their targets.
///
/// Neighbours are never merged, even if their values are equal. An entry keeps its extent until it
/// is removed or cut. A node is one cache line with values of up to two words.
///
/// Three operations remove a range, for three kinds of user. [`unmap_range`](Self::unmap_range)
/// takes whole entries and refuses to cut one, as virtio-iommu and VFIO specify for UNMAP.
/// [`invalidate_range`](Self::invalidate_range) takes every entry that overlaps the range, which
/// suits a cache. [`cut_range`](Self::cut_range) takes exactly the range, and cuts entries in two.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Hint, Map, VecMap};
///
/// let extent = |start, len| Extent::from_len(Iova::new(start), len).unwrap();
/// // Guest addresses at which the device's addresses lie.
/// let mut map: VecMap<u64> = Map::new(Vec::new());
/// map.insert(extent(0x1000, 0x2000), 0x8000_0000)?;
/// map.insert(extent(0x3000, 0x1000), 0x4000_0000)?;
///
/// let mut queue = Hint::default();
/// let (extent_of, guest) = map.lookup(Iova::new(0x1234), &mut queue).unwrap();
/// assert_eq!((extent_of, *guest), (extent(0x1000, 0x2000), 0x8000_0000));
/// // The next one of the same entry searches nothing.
/// assert!(map.lookup(Iova::new(0x2fff), &mut queue).is_some());
/// assert!(map.lookup(Iova::new(0x4000), &mut queue).is_none());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Map<V, S: Store<Entries<V>>, C: rbtree::Config = Standard> {
    tree: RbTree<Arena<Entries<V>, S>, C>,
    /// Free nodes, not in the tree.
    spare: Spare,
    /// True from the start to the end of a change; if it stays true, user code panicked in it.
    is_interrupted: bool,
}

/// Cache of the last look-up of one queue or one device. Each user has its own; any number may look
/// up in one map at a time.
///
/// It names a node. A look-up uses it only if that node is in the map and contains the address;
/// then no other entry does. A hint from before a change, or from another map, costs a search and
/// never gives a wrong answer. So there is nothing to invalidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint(Option<NodeId>);

/// Reason why a value was not inserted. The value is returned; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InsertError<V> {
    /// Its extent overlaps that of an entry.
    Occupied {
        /// The first overlapping entry.
        conflict: Extent<Iova>,
        /// The value.
        value: V,
    },
    /// Out of memory for another node.
    NoMemory {
        /// The value.
        value: V,
    },
}

impl<V> InsertError<V> {
    /// The value that was not inserted.
    pub fn into_value(self) -> V {
        match self {
            Self::Occupied { value, .. } | Self::NoMemory { value } => value,
        }
    }
}

impl<V> fmt::Debug for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied { conflict, .. } => debug_without_value(f, "Occupied", Some(*conflict)),
            Self::NoMemory { .. } => debug_without_value::<Iova>(f, "NoMemory", None),
        }
    }
}

impl<V> fmt::Display for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied { conflict, .. } => write!(f, "{conflict:?} has a value"),
            Self::NoMemory { .. } => f.write_str("out of memory for another node"),
        }
    }
}

impl<V> Error for InsertError<V> {}

/// Reason why an entry was not removed; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveError {
    /// None of its addresses has a value.
    Vacant,
    /// This entry overlaps it, but is not equal to it.
    Partial(Extent<Iova>),
}

impl fmt::Display for RemoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vacant => f.write_str("no address in it has a value"),
            Self::Partial(entry) => write!(f, "{entry:?} is one entry"),
        }
    }
}

impl Error for RemoveError {}

impl<V, S: Store<Entries<V>>> Map<V, S> {
    /// An empty map. If the array can grow, nodes beyond those of `nodes` are added on demand.
    ///
    /// # Panics
    /// If a node of `nodes` is in a map.
    ///
    /// # Cost
    /// O(nodes).
    pub fn new(nodes: S) -> Self {
        Self::with_config(nodes)
    }
}

impl<V, S: Store<Entries<V>>, C: rbtree::Config> Map<V, S, C> {
    /// An empty map with any configuration; otherwise the same as [`new`](Map::new).
    ///
    /// # Panics
    /// If a node of `nodes` is in a map.
    pub fn with_config(nodes: S) -> Self {
        let mut tree = RbTree::with_config(Arena::new(nodes));
        let spare = Spare::of(&mut tree);
        Self {
            tree,
            spare,
            is_interrupted: false,
        }
    }

    /// Gives the addresses of `extent` a value. Takes one node: after [`prepare`](Self::prepare) it
    /// allocates nothing.
    ///
    /// # Errors
    /// See [`InsertError`]: the value is returned, and nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn insert(&mut self, extent: Extent<Iova>, value: V) -> Result<(), InsertError<V>> {
        let next = self.tree.lower_bound(extent.start().raw());
        let conflict = next.map(|at| self.extent(at));
        if let Some(conflict) = conflict.filter(|entry| entry.overlaps(&extent)) {
            return Err(InsertError::Occupied { conflict, value });
        }
        if self.prepare(1).is_err() {
            return Err(InsertError::NoMemory { value });
        }
        self.link(extent, value, next);
        Ok(())
    }

    /// Removes the entry whose extent is exactly `extent`.
    ///
    /// # Errors
    /// See [`RemoveError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn remove(&mut self, extent: Extent<Iova>) -> Result<V, RemoveError> {
        let at = self.first_in(extent).ok_or(RemoveError::Vacant)?;
        let owner = self.extent(at);
        if owner != extent {
            return Err(RemoveError::Partial(owner));
        }
        Ok(self.unlink(at))
    }

    /// Removes the entry that contains `address`, and returns it.
    ///
    /// # Cost
    /// O(log n).
    pub fn remove_at(&mut self, address: Iova) -> Option<(Extent<Iova>, V)> {
        let at = self.search(address)?;
        Some((self.extent(at), self.unlink(at)))
    }

    /// The entry that contains `address`. A search also stores it in `hint`.
    ///
    /// # Cost
    /// O(1) without a search if the hint's entry contains the address, else O(log n).
    #[inline]
    pub fn lookup(&self, address: Iova, hint: &mut Hint) -> Option<(Extent<Iova>, &V)> {
        if let Some(at) = hint.0.filter(|at| self.has(*at, address)) {
            return self.entry(at);
        }
        let at = self.search(address)?;
        *hint = Hint(Some(at));
        self.entry(at)
    }

    /// The entry that contains `address`.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    #[must_use]
    pub fn get(&self, address: Iova) -> Option<(Extent<Iova>, &V)> {
        self.entry(self.search(address)?)
    }

    /// Changes the value at `address` and returns the result of `change`; `None` if no entry
    /// contains it.
    ///
    /// # Cost
    /// O(log n).
    pub fn update<T>(&mut self, address: Iova, change: impl FnOnce(&mut V) -> T) -> Option<T> {
        let at = self.search(address)?;
        self.tree
            .update(at, |entry| entry.value.as_mut().map(change))
    }

    /// The entries that overlap `range`, whole, in ascending order; `rev()` descends. An access to
    /// the range is allowed if they leave no gap in it.
    ///
    /// # Cost
    /// O(log n) for the two ends, and O(1) on average for each entry.
    pub fn entries_in(
        &self,
        range: Extent<Iova>,
    ) -> impl DoubleEndedIterator<Item = (Extent<Iova>, &V)> + '_ {
        EntriesIn {
            map: self,
            ends: self.first_in(range).zip(self.last_in(range)),
        }
    }

    /// All entries in ascending order; `rev()` descends.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Extent<Iova>, &V)> + '_ {
        self.tree.iter().filter_map(|at| self.entry(at))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The counters of the tree.
    pub fn counters(&self) -> &C::Counters {
        self.tree.counters()
    }

    /// Ensures that the next `nodes` insertions allocate nothing.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Same as [`Store::try_reserve`].
    pub fn prepare(&mut self, nodes: usize) -> Result<(), NoMemory> {
        self.spare.prepare(&mut self.tree, nodes)
    }

    fn extent(&self, at: NodeId) -> Extent<Iova> {
        let entry = self.tree.item(at);
        let [start, last] = [entry.start, entry.last].map(Iova::new);
        Extent::from_last(start, last).expect("an entry is not empty")
    }

    #[inline]
    fn entry(&self, at: NodeId) -> Option<(Extent<Iova>, &V)> {
        let value = self.tree.item(at).value.as_ref()?;
        Some((self.extent(at), value))
    }

    /// True if the node is in the map and contains the address.
    #[inline]
    fn has(&self, at: NodeId, address: Iova) -> bool {
        let is_in = |entry: &Entry<V>| (entry.start..=entry.last).contains(&address.raw());
        at.index() < self.tree.nodes().len() && self.tree.is_linked(at) && is_in(self.tree.item(at))
    }

    /// The node that contains the address.
    #[inline]
    fn search(&self, address: Iova) -> Option<NodeId> {
        let at = self.tree.lower_bound(address.raw())?;
        (self.tree.item(at).start <= address.raw()).then_some(at)
    }

    /// The first node that overlaps `range`.
    fn first_in(&self, range: Extent<Iova>) -> Option<NodeId> {
        let at = self.tree.lower_bound(range.start().raw())?;
        (self.tree.item(at).start <= range.last().raw()).then_some(at)
    }

    /// The last node that overlaps `range`.
    fn last_in(&self, range: Extent<Iova>) -> Option<NodeId> {
        let behind = self.tree.lower_bound(range.last().raw());
        if let Some(at) = behind.filter(|at| self.tree.item(*at).start <= range.last().raw()) {
            return Some(at);
        }
        let before = behind.map_or_else(|| self.tree.last(), |at| self.tree.prev(at))?;
        (range.start().raw() <= self.tree.item(before).last).then_some(before)
    }

    /// Links a node with a value for `extent` before `next`; a free node must exist.
    fn link(&mut self, extent: Extent<Iova>, value: V, next: Option<NodeId>) {
        let entry = Entry {
            start: extent.start().raw(),
            last: extent.last().raw(),
            value: Some(value),
        };
        self.recover();
        let at = self.spare.take(&mut self.tree, entry);
        let at = at.expect("there is room for a node");
        self.is_interrupted = true;
        let linked = self.tree.insert_before(next, at);
        linked.expect("a free node is in no tree");
        self.is_interrupted = false;
    }

    /// Removes an entry and keeps its node for the next one.
    fn unlink(&mut self, at: NodeId) -> V {
        self.recover();
        self.is_interrupted = true;
        let removed = self.tree.remove(at);
        removed.expect("an entry of the map is in the tree");
        let entry = self.spare.give(&mut self.tree, at);
        self.is_interrupted = false;
        entry.value.expect("an entry of the map has a value")
    }

    /// Repairs the map after a panic of user code (counters, an array of nodes) during a change.
    /// Every change does so first; this method lets the caller choose when. A value whose entry the
    /// change removed, and which was not returned, is dropped.
    ///
    /// # Cost
    /// O(1) if nothing has panicked, else O(nodes). Allocates nothing.
    #[inline]
    pub fn recover(&mut self) {
        if self.is_interrupted {
            self.rebuild();
        }
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self) {
        self.tree.recover();
        self.spare = Spare::of(&mut self.tree);
        self.is_interrupted = false;
    }
}

/// See [`Map::entries_in`].
struct EntriesIn<'a, V, S: Store<Entries<V>>, C: rbtree::Config> {
    map: &'a Map<V, S, C>,
    /// The first and the last of the remaining entries.
    ends: Option<(NodeId, NodeId)>,
}

impl<'a, V, S: Store<Entries<V>>, C: rbtree::Config> Iterator for EntriesIn<'a, V, S, C> {
    type Item = (Extent<Iova>, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, last) = self.ends?;
        let rest = self.map.tree.next(first).filter(|_| first != last);
        self.ends = rest.map(|first| (first, last));
        self.map.entry(first)
    }
}

impl<V, S: Store<Entries<V>>, C: rbtree::Config> DoubleEndedIterator for EntriesIn<'_, V, S, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (first, last) = self.ends?;
        let rest = self.map.tree.prev(last).filter(|_| first != last);
        self.ends = rest.map(|last| (first, last));
        self.map.entry(last)
    }
}

impl<V: fmt::Debug, S: Store<Entries<V>>, C: rbtree::Config> fmt::Debug for Map<V, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
