//! Nodes in the caller's structs.
#![expect(
    unsafe_code,
    reason = "an intrusive tree names structs by their address"
)]

use core::cell::Cell;
use core::ptr::NonNull;

use furlong::iova::{GapHalf, GapSummary, Gaps, Reserved};
use furlong::rbtree::{Augment, Config, Intrusive, Linked, Links, Pinned, RbTree, Side};

use super::subject::{Storage, TreeSubject};

/// A struct of the caller's, which contains the links of the tree.
#[derive(Debug)]
pub struct Entry {
    node: usize,
    start: Cell<u64>,
    last: u64,
    links: Links<EntryGaps>,
}

impl Entry {
    fn extent(&self) -> Reserved {
        Reserved {
            start: self.start.get(),
            last: self.last,
        }
    }
}

/// [`Gaps`] over entries.
#[derive(Debug)]
pub struct EntryGaps;

impl Augment for EntryGaps {
    type Item = Entry;
    type Key = u64;
    type Halves = <Gaps as Augment>::Halves;
    type Summary = GapSummary;

    fn key(entry: &Entry) -> u64 {
        entry.last
    }

    fn empty(entry: &Entry, side: Side) -> GapHalf {
        <Gaps>::empty(&entry.extent(), side)
    }

    fn half(entry: &Entry, side: Side, below: &GapSummary) -> GapHalf {
        <Gaps>::half(&entry.extent(), side, below)
    }

    fn join(entry: &Entry, side: Side, half: &GapHalf, other: &GapHalf) -> GapSummary {
        <Gaps>::join(&entry.extent(), side, half, other)
    }

    fn differs(
        entry: &Entry,
        side: Side,
        change: [&GapHalf; 2],
        other: &GapHalf,
        after: &GapSummary,
    ) -> bool {
        <Gaps>::differs(&entry.extent(), side, change, other, after)
    }
}

// SAFETY: the links are a field of the entry itself, and belong to one kind of tree.
unsafe impl Linked for EntryGaps {
    fn links(entry: &Entry) -> &Links<Self> {
        &entry.links
    }
}

/// The library's tree through links in the caller's structs.
pub type IntrusiveTree<C> = TreeSubject<Box<[Entry]>, C>;

impl Storage for Box<[Entry]> {
    type Nodes = Intrusive<EntryGaps>;

    fn of(extents: &[Reserved]) -> (Intrusive<EntryGaps>, Self) {
        let entry = |(node, extent): (usize, &Reserved)| Entry {
            node,
            start: Cell::new(extent.start),
            last: extent.last,
            links: Links::new(),
        };
        let all = extents.iter().chain(extents).enumerate();
        (Intrusive::new(), all.map(entry).collect())
    }

    fn name(&self, number: usize) -> Pinned<Entry> {
        // SAFETY: the entries are boxed, never moved and only shared. They live as long as the
        // tree, which is their only one. `Cell` and `NonNull` keep all of it on one thread.
        unsafe { Pinned::new(NonNull::from(&self[number])) }
    }

    fn number(tree: &RbTree<Self::Nodes, impl Config>, name: Pinned<Entry>) -> usize {
        tree.item(name).node
    }

    fn set_start(&self, tree: &mut RbTree<Self::Nodes, impl Config>, number: usize, to: u64) {
        self[number].start.set(to);
        // A node that is not linked has no summary to refresh.
        let _ = tree.refresh(self.name(number));
    }
}
