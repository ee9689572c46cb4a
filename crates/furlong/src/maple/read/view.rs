//! Read access to a tree, through its owner's borrow or under a guard.

use core::marker::PhantomData;

use super::iter::{Scan, ScanBack};
use crate::addr::{Address, Extent};
use crate::forms::{copies, debug_as};
use crate::maple::{Config, Entry, Found, Iter, IterBack, Tree, Typed, Words, extent};

/// The content at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<A: Address, R> {
    /// This entry, with its extent.
    Entry(Extent<A>, R),
    /// Nothing. The extent is the whole gap, up to the entries around it.
    Gap(Extent<A>),
}

impl<A: Address, R> Place<A, R> {
    /// The extent of the entry or of the gap.
    pub fn extent(&self) -> Extent<A> {
        match self {
            Self::Entry(at, _) | Self::Gap(at) => *at,
        }
    }
}

/// Read access to a tree for `'a`: while nobody changes it, or beside its writer under a guard.
///
/// Beside a writer, a look-up of one key sees every change that ended before it began, and either
/// all or nothing of a concurrent one. Searches for a neighbour or a gap, and iterations, are many
/// look-ups, each at its own moment. They find every entry that stays in the map all the time with
/// the same extent, in order. Any other entry that they find was in the map at some moment since
/// they began: two of them may overlap, and an entry whose extent changes may be missed. The two
/// ends of a gap are those of two moments.
pub struct View<'a, A: Address, E: Entry, C: Config> {
    pub(crate) tree: &'a Tree<C::Geometry>,
    pub(crate) count: &'a C::Counters,
    pub(crate) typed: Typed<A, &'a E>,
}

copies! { View<'_, A, E, C> where [A: Address, E: Entry, C: Config]; }

impl<'a, A: Address, E: Entry, C: Config> View<'a, A, E, C> {
    pub(crate) fn new(tree: &'a Tree<C::Geometry>, count: &'a C::Counters) -> Self {
        Self {
            tree,
            count,
            typed: PhantomData,
        }
    }

    /// The number of levels of the tree, including the leaves: a parameter of
    /// [`Reservation::new`](crate::maple::Reservation::new).
    pub fn levels(self) -> usize {
        self.tree.levels()
    }

    /// The number of entries. Beside a writer it may be out of date at once.
    ///
    /// # Cost
    /// O(1).
    pub fn len(self) -> usize {
        self.tree.len()
    }

    /// True if there is no entry.
    pub fn is_empty(self) -> bool {
        self.tree.root.load().is_none()
    }

    /// The entry that contains `index`.
    ///
    /// # Cost
    /// O(log n); it never waits and writes nothing.
    #[inline]
    pub fn load(self, index: A) -> Option<E::Ref<'a>> {
        let slot = self.tree.load(index.raw(), self.count)?;
        Some(Words::<A, E>::lend(slot).1)
    }

    /// The entry that contains `index`, with its extent.
    ///
    /// # Cost
    /// As [`load`](Self::load).
    #[inline(always)]
    pub fn get(self, index: A) -> Option<(Extent<A>, E::Ref<'a>)> {
        let slot = self.tree.load(index.raw(), self.count)?;
        Some(Words::<A, E>::lend(slot))
    }

    /// The entry or the gap at `index`, with its extent.
    ///
    /// # Cost
    /// O(log n).
    pub fn walk(self, index: A) -> Place<A, E::Ref<'a>> {
        match self.tree.walk(index.raw(), self.count) {
            Found::Entry(slot) => {
                let (at, entry) = Words::<A, E>::lend(slot);
                Place::Entry(at, entry)
            }
            Found::Gap { start, last } => Place::Gap(extent(start, last)),
        }
    }

    /// The first entry that contains `index` or lies behind it.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    pub fn find(self, index: A) -> Option<(Extent<A>, E::Ref<'a>)> {
        let slot = self.tree.from(index.raw(), self.count)?;
        Some(Words::<A, E>::lend(slot))
    }

    /// The last entry that contains `index` or lies before it.
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    pub fn find_back(self, index: A) -> Option<(Extent<A>, E::Ref<'a>)> {
        let slot = self.tree.upto(index.raw(), self.count)?;
        Some(Words::<A, E>::lend(slot))
    }

    /// The last entry that starts before `index`, and the first that contains it or lies behind it.
    /// Both are the same entry if `index` lies inside it.
    ///
    /// # Cost
    /// O(log n): one descent, and another one if an entry is in a neighbouring leaf.
    #[inline]
    pub fn beside(self, index: A) -> [Option<(Extent<A>, E::Ref<'a>)>; 2] {
        let slots = self.tree.beside(index.raw(), self.count);
        slots.map(|slot| slot.map(Words::<A, E>::lend))
    }

    /// All entries, in order.
    pub fn iter(self) -> Iter<'a, A, E, C> {
        self.range(extent(0, u64::MAX))
    }

    /// The entries that overlap `window`, in order.
    ///
    /// # Cost
    /// O(log n), and O(1) for each entry.
    // Inlined always: what it returns is large.
    #[inline(always)]
    pub fn range(self, window: Extent<A>) -> Iter<'a, A, E, C> {
        let (from, last) = (window.start().raw(), window.last().raw());
        Iter {
            scan: Scan::new(self.tree, self.count, from, last),
            typed: PhantomData,
        }
    }

    /// The entries that overlap `window`, the last one first.
    pub fn range_back(self, window: Extent<A>) -> IterBack<'a, A, E, C> {
        let (start, upto) = (window.start().raw(), window.last().raw());
        IterBack {
            scan: ScanBack::new(self.tree, self.count, start, upto),
            typed: PhantomData,
        }
    }
}

debug_as! { View<'_, A, E, C> where [A: Address, E: Entry, C: Config]: View { .. } }
