//! The tree of one owner: changed with `&mut`, in place, with nobody reading beside it.
#![forbid(unsafe_code)]

use core::{fmt, marker::PhantomData};

#[cfg(feature = "alloc")]
use super::Standard;
use super::check::Broken;
use super::config::Config;
use super::counters::Off;
use super::displaced::{Displaced, Slots};
use super::entry::{Entry, Split};
use super::error::{EraseError, InsertError, ResizeError, StoreError};
use super::gaps::{End, Wanted};
use super::iter::{Iter, IterBack, Scan, ScanBack};
use super::leaf::{Slot, Word};
use super::pool::{NoMemory, Nodes, Pool};
use super::resize::NotResized;
use super::tree::{Found, Tree};
use super::typed::{Typed, Words, extent};
use super::write::{NotInserted, Refused, Write};
use crate::addr::{Address, Extent};
use crate::check::Check;
use crate::sync::const_unless_loom;

/// What is at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<A: Address, R> {
    /// This entry, with its extent.
    Entry(Extent<A>, R),
    /// Nothing, and nothing in this extent, up to the entries around it.
    Gap(Extent<A>),
}

/// A map from extents of addresses to entries of one word, which do not overlap.
///
/// Neighbours are never merged, whether their entries are equal or not. Addresses 0 and `u64::MAX`
/// are as good as others.
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
pub struct Maple<A: Address, E: Entry, C: Config> {
    pub(super) tree: Tree<C::Geometry>,
    pub(super) pool: Pool<C::Geometry, C::Source>,
    pub(super) count: C::Counters,
    /// Nodes in the pool beyond these go back to the source after a change.
    pub(super) keep: Nodes,
    pub(super) typed: Typed<A, E>,
}

/// Nodes that a map keeps for its next change.
const KEEP: Nodes = Nodes {
    leaves: 1,
    inners: 0,
};

#[cfg(feature = "alloc")]
impl<A: Address, E: Entry> Maple<A, E, Standard> {
    const_unless_loom! {
        /// An empty map. It allocates when it gets its first entry.
        pub const fn new() -> Self {
            Self {
                tree: Tree::new(),
                pool: Pool::new(),
                count: Off,
                keep: KEEP,
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
            keep: KEEP,
            typed: PhantomData,
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.tree.root.load().is_none()
    }

    /// The work that was done so far.
    pub fn counters(&self) -> &C::Counters {
        &self.count
    }

    /// The entry that has `index`.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    pub fn load(&self, index: A) -> Option<E::Ref<'_>> {
        let slot = self.tree.load(index.raw(), &self.count)?;
        Some(Words::<A, E>::lend(slot).1)
    }

    /// What is at `index`, with its extent: an entry, or a gap.
    ///
    /// # Cost
    /// O(log n).
    pub fn walk(&self, index: A) -> Place<A, E::Ref<'_>> {
        place::<A, E>(self.tree.walk(index.raw(), &self.count))
    }

    /// The first entry that has `index` or lies behind it.
    ///
    /// # Cost
    /// O(log n).
    pub fn find(&self, index: A) -> Option<(Extent<A>, E::Ref<'_>)> {
        self.range(extent(index.raw(), u64::MAX)).next()
    }

    /// The last entry that has `index` or lies before it.
    ///
    /// # Cost
    /// O(log n).
    pub fn find_back(&self, index: A) -> Option<(Extent<A>, E::Ref<'_>)> {
        self.range_back(extent(0, index.raw())).next()
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, A, E, C> {
        self.range(extent(0, u64::MAX))
    }

    /// The entries that overlap `window`, in order.
    ///
    /// # Cost
    /// O(log n), and O(1) an entry.
    pub fn range(&self, window: Extent<A>) -> Iter<'_, A, E, C> {
        let (from, last) = (window.start().raw(), window.last().raw());
        Iter {
            scan: Scan::new(&self.tree, &self.count, from, last),
            typed: PhantomData,
        }
    }

    /// The entries that overlap `window`, from the last on.
    pub fn range_back(&self, window: Extent<A>) -> IterBack<'_, A, E, C> {
        let (start, upto) = (window.start().raw(), window.last().raw());
        IterBack {
            scan: ScanBack::new(&self.tree, &self.count, start, upto),
            typed: PhantomData,
        }
    }

    /// The length of the largest gap; `u64::MAX` also for the whole space, which has one more.
    ///
    /// # Cost
    /// O(1).
    pub fn largest_gap(&self) -> u64 {
        self.tree.largest_gap()
    }

    /// The lowest place in `window` for something of `size`, which is not 0.
    ///
    /// # Cost
    /// O(log n), whatever the window: at most the nodes on the ways to its ends are visited in
    /// vain. O(1) if no gap is large enough.
    pub fn lowest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, window, End::Lowest)
    }

    /// The highest place in `window` for something of `size`, which is not 0.
    ///
    /// # Cost
    /// As [`lowest_gap`](Self::lowest_gap).
    pub fn highest_gap(&self, size: u64, window: Extent<A>) -> Option<Extent<A>> {
        self.gap(size, window, End::Highest)
    }

    fn gap(&self, size: u64, window: Extent<A>, end: End) -> Option<Extent<A>> {
        let wanted = Wanted {
            size,
            lo: window.start().raw(),
            hi: window.last().raw(),
        };
        let above = size.checked_sub(1)?;
        let start = self.tree.find_gap(wanted, end, &self.count)?;
        Some(extent(start, start + above))
    }

    /// Gives `extent` an entry.
    ///
    /// # Errors
    /// [`InsertError`], with the entry: another overlaps it, or there is no memory.
    ///
    /// # Cost
    /// O(log n).
    pub fn insert(&mut self, at: Extent<A>, entry: E) -> Result<(), InsertError<A, E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        let result = self.write().insert(Slot { start, last, word });
        self.end();
        result.map_err(|refused| {
            let entry = give_back::<A, E>(word);
            match refused {
                NotInserted::Occupied(slot) => InsertError::Occupied {
                    conflict: extent(slot.start, slot.last),
                    entry,
                },
                NotInserted::NoMemory => InsertError::NoMemory { entry },
            }
        })
    }

    /// Takes out the entry that has `index`.
    ///
    /// # Errors
    /// [`NoMemory`]: an erasure that merges or removes nodes may need others.
    ///
    /// # Cost
    /// O(log n).
    pub fn erase(&mut self, index: A) -> Result<Option<(Extent<A>, E)>, NoMemory> {
        let result = self.write().erase(index.raw());
        self.end();
        match result {
            Ok(slot) => Ok(slot.map(Words::<A, E>::take)),
            Err(_) => Err(NoMemory),
        }
    }

    /// Gives the entry that has `index` another extent, which has `index` too: it grows and shrinks
    /// at either end.
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
        result.map_err(|refused| match refused {
            NotResized::Vacant => ResizeError::Vacant,
            NotResized::Occupied(slot) => ResizeError::Occupied(extent(slot.start, slot.last)),
            NotResized::NoMemory => ResizeError::NoMemory,
        })
    }

    /// Takes all entries out, and drops them.
    pub fn clear(&mut self) {
        let all = |word| Some(word);
        // The whole space cuts no entry, and what is left of the tree is nothing.
        let result = self.write().store(0, u64::MAX, None, all);
        debug_assert!(result.is_ok(), "to remove all nodes needs none");
        drop(self.displaced(0, u64::MAX, None));
    }

    fn write(&mut self) -> Write<'_, C, false> {
        Write {
            tree: &self.tree,
            pool: &mut self.pool,
            count: &self.count,
        }
    }

    /// After a change that displaced nothing.
    fn end(&mut self) {
        self.pool.recycle();
        self.pool.trim(self.keep);
    }

    fn displaced(&mut self, start: u64, last: u64, one: Option<Slot>) -> Displaced<'_, A, E, C> {
        Displaced {
            slots: Slots {
                tree: &self.tree,
                pool: &mut self.pool,
                one,
                start,
                last,
                leaf: None,
            },
            keep: self.keep,
            typed: PhantomData,
        }
    }
}

impl<A: Address, E: Split, C: Config> Maple<A, E, C> {
    /// Gives `extent` an entry, over whatever is there: entries that lie in it are displaced, and
    /// those that reach out of it are cut.
    ///
    /// # Errors
    /// [`StoreError`], with the entry; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and O(1) a displaced entry.
    pub fn store(
        &mut self,
        at: Extent<A>,
        entry: E,
    ) -> Result<Displaced<'_, A, E, C>, StoreError<E>> {
        let word = entry.into_word();
        let (start, last) = (at.start().raw(), at.last().raw());
        match self.write().store(start, last, Some(word), split::<E>) {
            Ok(one) => Ok(self.displaced(start, last, one)),
            Err(refused) => {
                self.end();
                let entry = give_back::<A, E>(word);
                Err(match refused {
                    Refused::NoMemory => StoreError::NoMemory { entry },
                    Refused::NoSplit => StoreError::NoSplit { entry },
                })
            }
        }
    }

    /// Leaves nothing in `extent`: entries that lie in it are displaced, and those that reach out
    /// of it are cut.
    ///
    /// # Errors
    /// [`EraseError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), and O(1) a displaced entry.
    pub fn erase_range(&mut self, at: Extent<A>) -> Result<Displaced<'_, A, E, C>, EraseError> {
        let (start, last) = (at.start().raw(), at.last().raw());
        match self.write().store(start, last, None, split::<E>) {
            Ok(one) => Ok(self.displaced(start, last, one)),
            Err(refused) => {
                self.end();
                Err(match refused {
                    Refused::NoMemory => EraseError::NoMemory,
                    Refused::NoSplit => EraseError::NoSplit,
                })
            }
        }
    }
}

fn lent<'a, E: Entry + 'a>(word: Word) -> E::Ref<'a> {
    let slot = Slot {
        start: 0,
        last: 0,
        word,
    };
    Words::<crate::addr::VirtAddr, E>::lend(slot).1
}

fn split<E: Split>(word: Word) -> Option<Word> {
    E::split(lent::<E>(word)).map(Entry::into_word)
}

/// The entry of a word that was not put into the tree.
fn give_back<A: Address, E: Entry>(word: Word) -> E {
    let slot = Slot {
        start: 0,
        last: 0,
        word,
    };
    Words::<A, E>::take(slot).1
}

pub(super) fn place<'a, A: Address, E: Entry + 'a>(found: Found) -> Place<A, E::Ref<'a>> {
    match found {
        Found::Entry(slot) => {
            let (at, entry) = Words::<A, E>::lend(slot);
            Place::Entry(at, entry)
        }
        Found::Gap { start, last } => Place::Gap(extent(start, last)),
    }
}

#[cfg(feature = "alloc")]
impl<A: Address, E: Entry> Default for Maple<A, E, Standard> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Address, E: Entry, C: Config> Check for Maple<A, E, C> {
    type Broken = Broken;

    /// O(n).
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

impl<A: Address, E: Entry, C: Config> fmt::Debug for Maple<A, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maple").finish_non_exhaustive()
    }
}
