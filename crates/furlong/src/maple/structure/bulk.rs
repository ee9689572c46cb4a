//! Loading of sorted entries into an empty tree.

use core::fmt;

use crate::error::messages;

use crate::addr::{Address, Extent, debug_without_value};
use crate::maple::{
    Config, Counters, Entry, Event, Geometry, Inner, Item, Leaf, Maple, NoMemory, Node, Nodes,
    Pool, Ptr, RcuMaple, Retire, Row, Session, Slot, Tree,
};
use crate::rcu::Rcu;
use crate::sync::RawLock;

/// The reason why entries were not loaded. The entry at which loading stopped comes back. Those
/// before it have been dropped, as they are if the iterator panics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BulkError<A: Address, E> {
    /// The map was not empty; this is the first of the new entries. Nothing has changed.
    Occupied(Extent<A>, E),
    /// The entry does not lie behind the one before.
    Order(Extent<A>, E),
    /// Out of memory for nodes.
    NoMemory(Extent<A>, E),
}

messages! { BulkError<A, E> where [A: Address, E]:
    Self::Occupied(it_0, _) => "{it_0:?} cannot be loaded: the tree is not empty";
    Self::Order(it_0, _) => "{it_0:?} is not after the previous entry";
    Self::NoMemory(it_0, _) => "out of memory for nodes at {it_0:?}";
}

impl<A: Address, E> fmt::Debug for BulkError<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, at) = match self {
            Self::Occupied(at, _) => ("Occupied", at),
            Self::Order(at, _) => ("Order", at),
            Self::NoMemory(at, _) => ("NoMemory", at),
        };
        debug_without_value(f, name, Some(*at))
    }
}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// A map of entries in ascending order. One place stays free in each node, so that one more
    /// entry does not split it.
    ///
    /// # Errors
    /// [`BulkError`].
    ///
    /// # Cost
    /// O(n); no node is written twice.
    pub fn from_sorted(
        entries: impl IntoIterator<Item = (Extent<A>, E)>,
    ) -> Result<Self, BulkError<A, E>> {
        let mut new = Self::with_config();
        let mut loading = Loading::<C> {
            tree: &new.tree,
            pool: &mut new.pool,
            count: &new.count,
            leaf: None,
            len: 0,
            largest: 0,
            free: Some(0),
            entries: 0,
            leaves_max: (C::Geometry::INNER - 1).saturating_pow(C::Geometry::DEPTH as u32),
            levels: <C::Geometry as Geometry>::Path::from_fn(|_| None),
        };
        let mut result = Ok(());
        for (at, entry) in entries {
            let (start, last) = (at.start().raw(), at.last().raw());
            if loading.free.is_none_or(|free| start < free) {
                result = Err(BulkError::Order(at, entry));
                break;
            }
            if loading.prepare().is_err() {
                result = Err(BulkError::NoMemory(at, entry));
                break;
            }
            let word = entry.into_word();
            loading.push(Slot { start, last, word });
        }
        // Also after a failure or a panic, so that the loaded entries are dropped with the map.
        drop(loading);
        new.pool.end();
        result.map(|()| new)
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> RcuMaple<A, E, R, L, C> {
    /// As [`Maple::from_sorted`]. Readers hold guards of `rcu`, and writers take `lock`.
    ///
    /// # Errors
    /// [`BulkError`].
    pub fn from_sorted(
        rcu: R,
        lock: L,
        entries: impl IntoIterator<Item = (Extent<A>, E)>,
    ) -> Result<Self, BulkError<A, E>> {
        Maple::from_sorted(entries).map(|map| Self::from_maple(map, rcu, lock))
    }

    /// Turns a map with one owner into one with readers.
    ///
    /// # Cost
    /// O(1).
    pub fn from_maple(map: Maple<A, E, C>, rcu: R, lock: L) -> Self {
        let new = Self::with_config(rcu, lock);
        new.tree.take(&map.tree);
        drop(map);
        new
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'_, A, E, R, L, C> {
    /// Loads entries in ascending order into an empty map. Readers see no entry until they see all
    /// of them at once.
    ///
    /// # Errors
    /// [`BulkError`]; the map is still empty, or nothing has changed.
    ///
    /// # Cost
    /// As [`Maple::from_sorted`]. Supplied nodes are not used.
    pub fn load_sorted(
        &mut self,
        entries: impl IntoIterator<Item = (Extent<A>, E)>,
    ) -> Result<(), BulkError<A, E>> {
        let mut entries = entries.into_iter();
        if !self.view().is_empty() {
            let first = entries.next();
            return first.map_or(Ok(()), |(at, entry)| Err(BulkError::Occupied(at, entry)));
        }
        let loaded = Maple::<A, E, C>::from_sorted(entries)?;
        self.map.tree.take(&loaded.tree);
        Ok(())
    }
}

type Level<'a, C> = Option<Ptr<'a, Inner<<C as Config>::Geometry>>>;

/// The nodes that are being filled: a leaf, and one inner node at each level above it.
struct Loading<'a, C: Config> {
    tree: &'a Tree<C::Geometry>,
    pool: &'a mut Pool<C::Geometry, C::Source>,
    count: &'a C::Counters,
    leaf: Option<Ptr<'a, Leaf<C::Geometry>>>,
    len: usize,
    /// The largest gap of the leaf so far.
    largest: u64,
    /// The first index behind the last entry.
    free: Option<u64>,
    entries: usize,
    /// The number of further leaves that fit: nodes get one child less than they may have.
    leaves_max: usize,
    levels: <C::Geometry as Geometry>::Path<Level<'a, C>>,
}

impl<'a, C: Config> Loading<'a, C> {
    /// Obtains the nodes that the next entry may need.
    fn prepare(&mut self) -> Result<(), NoMemory> {
        let is_full = self.len + 1 >= C::Geometry::LEAF;
        if self.leaf.is_some() && !is_full {
            return Ok(());
        }
        self.leaves_max = self.leaves_max.checked_sub(1).ok_or(NoMemory)?;
        let levels = self.levels.as_slice().iter().flatten().count();
        self.pool.ensure(Nodes {
            leaves: 1,
            // This leaf may add one node to each level, and the end adds two.
            inners: 3 * (levels + 2),
        })
    }

    fn push(&mut self, slot: Slot) {
        if self.len + 1 >= C::Geometry::LEAF {
            self.close_leaf(slot.start - 1);
        }
        let leaf = match self.leaf {
            Some(leaf) => leaf,
            None => self.pool.leaf(self.tree),
        };
        self.leaf = Some(leaf);
        let gap = self.free.map_or(0, |free| slot.start - free);
        // The gap before the first entry of a leaf belongs to the leaf before.
        if self.len > 0 {
            self.largest = self.largest.max(gap);
        }
        leaf.put(self.len, slot);
        self.len += 1;
        self.entries += 1;
        self.free = slot.last.checked_add(1);
    }

    /// Hangs the leaf, which ends at `max`, below the inner nodes.
    fn close_leaf(&mut self, max: u64) {
        let Some(leaf) = self.leaf.take() else { return };
        leaf.close(self.len);
        self.count.count(Event::NodeStore);
        let behind = self.free.filter(|free| *free <= max && max < u64::MAX);
        let rest = behind.map_or(0, |free| max - free + 1);
        let item = Item {
            node: Node::Leaf(leaf),
            pivot: max,
            gap: self.largest.max(rest),
        };
        (self.len, self.largest) = (0, 0);
        self.hang(item, 0);
    }

    fn hang(&mut self, item: Item<'a, C::Geometry>, level: usize) {
        let above = self.levels.as_slice()[level];
        let full = above.filter(|inner| inner.len() + 1 >= C::Geometry::INNER);
        if let Some(full) = full {
            self.levels.as_mut_slice()[level] = None;
            let last = full.pivot(full.len() - 1);
            self.close_inner(full, last, level);
        }
        let inner = match self.levels.as_slice()[level] {
            Some(inner) => inner,
            None => self.pool.inner(self.tree),
        };
        inner.push(item);
        self.levels.as_mut_slice()[level] = Some(inner);
    }

    fn close_inner(&mut self, inner: Ptr<'a, Inner<C::Geometry>>, pivot: u64, level: usize) {
        inner.close();
        self.count.count(Event::NodeStore);
        let item = Item {
            node: Node::Inner(inner),
            pivot,
            gap: inner.largest_gap(),
        };
        self.hang(item, level + 1);
    }

    /// Closes all nodes, and makes the highest one the root.
    fn finish(&mut self) {
        self.close_leaf(u64::MAX);
        for level in 0..C::Geometry::DEPTH {
            let Some(inner) = self.levels.as_mut_slice()[level].take() else {
                continue;
            };
            let above = self.levels.as_slice()[level + 1..].iter().flatten().next();
            if above.is_some() {
                self.close_inner(inner, u64::MAX, level);
                continue;
            }
            inner.close();
            let root = match Node::Inner(inner).first_child() {
                Some(child) if inner.len() == 1 => {
                    self.pool.give_up(Node::Inner(inner));
                    child
                }
                _ => Node::Inner(inner),
            };
            self.tree.root.publish(root);
            self.tree.set_largest_gap(inner.largest_gap());
            self.tree.set_len(self.entries);
            self.tree.note_outer();
        }
    }
}

impl<C: Config> Drop for Loading<'_, C> {
    fn drop(&mut self) {
        self.finish();
    }
}

impl<A: Address, E> BulkError<A, E> {
    /// The entry at which loading stopped.
    pub fn into_entry(self) -> E {
        match self {
            Self::Occupied(_, entry) | Self::Order(_, entry) | Self::NoMemory(_, entry) => entry,
        }
    }
}
