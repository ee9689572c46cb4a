//! The tree with one owner: changed through `&mut`, in place, without concurrent readers.

use core::marker::PhantomData;

use super::edit::write;
use super::{
    Align, Anywhere, Broken, Config, Displaced, End, Entry, EraseError, Geometry, InsertError,
    Iter, IterBack, Multiple, NoMemory, Nodes, Off, Place, Pool, ResizeError, Slot, Slots, Split,
    Standard, StoreError, Tree, Typed, View, Word, Words, Write, bound_in_place, gap, not_inserted,
    not_resized, not_stored,
};
use crate::addr::{Address, Extent};
use crate::check::Check;
use crate::forms::{debug_as, default_is_new};
use crate::sync::const_unless_loom;

/// A map from extents of addresses to entries of one word. The extents do not overlap.
///
/// Neighbours are never merged, even if their entries are equal. Addresses 0 and `u64::MAX` are
/// valid.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, VirtAddr};
/// use furlong::maple::Maple;
///
/// let extent = |start, len| Extent::from_len(VirtAddr::new(start), len).unwrap();
/// let mut areas: Maple<VirtAddr, Box<&str>> = Maple::new();
/// areas.insert(extent(0x1000, 0x3000), Box::new("code"))?;
/// areas.insert(extent(0x8000, 0x1000), Box::new("stack"))?;
///
/// assert_eq!(areas.load(VirtAddr::new(0x3fff)), Some(&"code"));
/// let window = Extent::from_end(VirtAddr::new(0), VirtAddr::new(0x10000)).unwrap();
/// assert_eq!(areas.highest_gap(0x2000, window), Some(extent(0xe000, 0x2000)));
/// let (at, stack) = areas.erase(VirtAddr::new(0x8000))?.unwrap();
/// assert_eq!((at, *stack), (extent(0x8000, 0x1000), "stack"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Maple<A: Address, E: Entry, C: Config = Standard> {
    pub(super) tree: Tree<C::Geometry>,
    pub(super) pool: Pool<C::Geometry, C::Source>,
    pub(super) count: C::Counters,
    pub(super) typed: Typed<A, E>,
}

impl<A: Address, E: Entry> Maple<A, E, Standard> {
    const_unless_loom! {
        /// An empty map. It allocates when it gets its first entry.
        pub const fn new() -> Self {
            Self {
                tree: Tree::new(),
                pool: Pool::new(),
                count: Off,
                typed: PhantomData,
            }
        }
    }
}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// An empty map with any configuration.
    #[must_use]
    pub fn with_config() -> Self {
        Self {
            tree: Tree::new(),
            pool: Pool::new(),
            count: C::Counters::default(),
            typed: PhantomData,
        }
    }

    /// The counters of the work done so far.
    pub fn counters(&self) -> &C::Counters {
        &self.count
    }

    /// A read-only view of the tree.
    pub fn view(&self) -> View<'_, A, E, C> {
        View::new(&self.tree, &self.count)
    }

    /// See [`View::len`].
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// See [`View::load`].
    #[inline]
    pub fn load(&self, index: A) -> Option<E::Ref<'_>> {
        self.view().load(index)
    }

    /// See [`View::walk`].
    pub fn walk(&self, index: A) -> Place<A, E::Ref<'_>> {
        self.view().walk(index)
    }

    /// See [`View::find`].
    pub fn find(&self, index: A) -> Option<(Extent<A>, E::Ref<'_>)> {
        self.view().find(index)
    }

    /// See [`View::find_back`].
    pub fn find_back(&self, index: A) -> Option<(Extent<A>, E::Ref<'_>)> {
        self.view().find_back(index)
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, A, E, C> {
        self.view().iter()
    }

    /// See [`View::range`].
    pub fn range(&self, window: Extent<A>) -> Iter<'_, A, E, C> {
        self.view().range(window)
    }

    /// See [`View::range_back`].
    pub fn range_back(&self, window: Extent<A>) -> IterBack<'_, A, E, C> {
        self.view().range_back(window)
    }

    /// The length of the largest gap; `u64::MAX` also for the whole space, whose length is one
    /// more.
    ///
    /// # Cost
    /// O(1).
    pub fn largest_gap(&self) -> u64 {
        self.tree.widest_gap(A::LAST.raw())
    }

    /// The lowest place in `window` for `size` indices. `size` is not 0.
    ///
    /// # Cost
    /// O(log n), whatever the window: only nodes on the two paths to its ends are visited in vain.
    /// O(1) if no gap is large enough.
    pub fn lowest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, Anywhere, window, End::Lowest)
    }

    /// The highest place in `window` for `size` indices. `size` is not 0.
    ///
    /// # Cost
    /// As [`lowest_gap`](Self::lowest_gap).
    pub fn highest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, Anywhere, window, End::Highest)
    }

    fn gap(&self, size: u64, align: impl Align, window: Extent<A>, end: End) -> Option<Extent<A>> {
        gap(&self.tree, &self.count, size, align, window, end)
    }

    /// The lowest place in `window` for `size` indices that starts at a multiple of `align`. `size`
    /// is not 0, and `align` is a power of two; otherwise there is none. A signed index counts from
    /// its least value.
    ///
    /// # Cost
    /// As [`lowest_gap`](Self::lowest_gap), unless gaps are long enough but no multiple lies right:
    /// each of those that is shorter than `size + align - 1` may be visited in vain.
    pub fn lowest_aligned_gap(
        &self,
        size: u64,
        align: u64,
        window: Extent<A>,
    ) -> Option<Extent<A>> {
        self.gap(size, Multiple::new(align)?, window, End::Lowest)
    }

    /// The highest place in `window` for `size` indices that starts at a multiple of `align`;
    /// otherwise as [`lowest_aligned_gap`](Self::lowest_aligned_gap).
    ///
    /// # Cost
    /// As [`lowest_aligned_gap`](Self::lowest_aligned_gap).
    pub fn highest_aligned_gap(
        &self,
        size: u64,
        align: u64,
        window: Extent<A>,
    ) -> Option<Extent<A>> {
        self.gap(size, Multiple::new(align)?, window, End::Highest)
    }

    /// Adds an entry with the extent `at`.
    ///
    /// # Errors
    /// [`InsertError`], with the entry: another entry overlaps it, or there is no memory.
    ///
    /// # Cost
    /// O(log n).
    pub fn insert(&mut self, at: Extent<A>, entry: E) -> Result<(), InsertError<A, E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        let result = self.write().insert(Slot { start, last, word });
        let result = result.map_err(|refused| {
            let entry = Words::<A, E>::give_back(word);
            not_inserted(refused, entry)
        });
        self.end();
        result
    }

    /// Removes the entry that contains `index`.
    ///
    /// # Errors
    /// [`NoMemory`]: an erasure that merges or removes nodes may need new ones.
    ///
    /// # Cost
    /// O(log n).
    pub fn erase(&mut self, index: A) -> Result<Option<(Extent<A>, E)>, NoMemory> {
        let result = self.write().erase(index.raw());
        // Make the entry first: nodes then go back to their source, whose code may panic.
        let taken = result.map(|slot| slot.map(Words::<A, E>::take));
        self.end();
        taken.map_err(|_| NoMemory)
    }

    /// Changes the extent of the entry that contains `index` to another one that contains `index`.
    /// The entry may grow and shrink at both ends.
    ///
    /// # Errors
    /// [`ResizeError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n).
    pub fn resize(&mut self, index: A, to: Extent<A>) -> Result<(), ResizeError<A>> {
        let (start, last) = (to.start().raw(), to.last().raw());
        let result = self.write().resize(index.raw(), start, last);
        self.end();
        result.map_err(not_resized)
    }

    /// Obtains nodes for `changes` changes, which then neither allocate, nor free, nor fail for
    /// lack of tree memory. The nodes are kept until [`trim`](Self::trim). For a tree with its own
    /// lock, [`lock_prepared`](super::RcuMaple::lock_prepared) obtains them before it takes the
    /// lock.
    ///
    /// # Errors
    /// [`NoMemory`], also if the tree has the full height of its geometry. Nothing has changed,
    /// except that nodes already obtained are kept.
    ///
    /// # Cost
    /// Nodes that one change gives up serve the next one. One change of a tree of `h` levels needs
    /// at most `3 h + 1` nodes. If there are many changes, each further one needs a leaf and on
    /// average less than two inner nodes.
    pub fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        let levels = self.tree.levels();
        if changes > 0 && levels > C::Geometry::DEPTH {
            return Err(NoMemory);
        }
        self.pool.keep_all(true);
        let need = bound_in_place::<C::Geometry>(changes, levels);
        self.pool.ensure(need)
    }

    /// Frees nodes that are not in the tree, except for one leaf, and keeps no more from now on.
    pub fn trim(&mut self) {
        self.pool.keep_all(false);
        self.pool.end();
    }

    /// The number of nodes in the tree.
    ///
    /// # Cost
    /// O(n).
    pub fn nodes(&self) -> Nodes {
        self.tree.nodes()
    }

    /// Removes all entries, and drops them.
    pub fn clear(&mut self) {
        drop(self.take_all());
    }

    /// Removes all entries. It obtains no node.
    pub(crate) fn take_all(&mut self) -> Displaced<'_, A, E, C> {
        let mut write = self.write();
        write.unlink_subtree();
        let displaced = write.displaced;
        self.displaced(0, u64::MAX, displaced)
    }

    pub(super) fn write(&mut self) -> Write<'_, C, false> {
        Write {
            tree: &self.tree,
            pool: &mut self.pool,
            count: &self.count,
            displaced: write::Displaced::new(),
        }
    }

    /// Ends a change that displaced nothing.
    pub(super) fn end(&mut self) {
        self.pool.end();
    }

    pub(super) fn displaced(
        &mut self,
        start: u64,
        last: u64,
        displaced: write::Displaced<C>,
    ) -> Displaced<'_, A, E, C> {
        let slots = Slots::new(&self.tree, &mut self.pool, displaced, (start, last));
        Displaced::of(slots)
    }
}

impl<A: Address, E: Split, C: Config> Maple<A, E, C> {
    /// Stores an entry at `at`, over all entries there. Entries inside `at` are displaced; those
    /// that reach out of it are cut.
    ///
    /// # Errors
    /// [`StoreError`], with the entry; nothing has changed. If [`Split::split`] panics, nothing has
    /// changed either, and the entry is dropped.
    ///
    /// # Cost
    /// O(log n), and O(1) for each displaced entry.
    pub fn store(
        &mut self,
        at: Extent<A>,
        entry: E,
    ) -> Result<Displaced<'_, A, E, C>, StoreError<E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let stored = write.store(start, last, Some(word), Words::<A, E>::split_for(word));
        let displaced = write.displaced;
        match stored {
            Ok(()) => Ok(self.displaced(start, last, displaced)),
            Err(refused) => {
                let refused = not_stored(refused, Words::<A, E>::give_back(word));
                self.end();
                Err(refused)
            }
        }
    }

    /// Clears `at`. Entries inside `at` are displaced; those that reach out of it are cut.
    ///
    /// # Errors
    /// [`EraseError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and O(1) for each displaced entry.
    pub fn erase_range(&mut self, at: Extent<A>) -> Result<Displaced<'_, A, E, C>, EraseError> {
        self.clear_range(at, Words::<A, E>::split)
    }
}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// Clears `at`; `split` makes the word of the upper part of an entry that is cut in two.
    pub(super) fn clear_range(
        &mut self,
        at: Extent<A>,
        split: impl FnOnce(Word) -> Option<Word>,
    ) -> Result<Displaced<'_, A, E, C>, EraseError> {
        let (start, last) = (at.start().raw(), at.last().raw());
        let mut write = self.write();
        let erased = write.store(start, last, None, split);
        let displaced = write.displaced;
        match erased {
            Ok(()) => Ok(self.displaced(start, last, displaced)),
            Err(refused) => {
                self.end();
                Err(refused)
            }
        }
    }
}

default_is_new! { Maple<A, E, Standard> where [A: Address, E: Entry] }

impl<A: Address, E: Entry, C: Config> Check for Maple<A, E, C> {
    type Broken = Broken;

    /// Checks every invariant, in O(n).
    fn check(&self) -> Result<(), Broken> {
        self.tree.check()
    }
}

impl<A: Address, E: Entry, C: Config> Drop for Maple<A, E, C> {
    fn drop(&mut self) {
        self.clear();
        self.pool.trim(Nodes::default());
    }
}

debug_as! { Maple<A, E, C> where [A: Address, E: Entry, C: Config]: Maple { .. } }
