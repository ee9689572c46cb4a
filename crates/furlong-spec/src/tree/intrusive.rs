//! The library's tree through links in the caller's structs.
#![expect(
    unsafe_code,
    reason = "an intrusive tree names structs by their address"
)]

use core::cell::Cell;
use core::fmt;
use core::ptr::NonNull;

use furlong::check::Check;
use furlong::iova::{GapHalf, GapSummary, Gaps, Reserved};
use furlong::rbtree::{
    Augment, Config, InsertError, Intrusive, Linked, Links, Pinned, RbTree, Side,
};

use super::{Operation, Outcome};
use crate::Subject;

/// A struct of the caller's, which contains the links of the tree.
#[derive(Debug)]
pub(super) struct Entry {
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
pub(super) struct EntryGaps;

impl Augment for EntryGaps {
    type Item = Entry;
    type Key = u64;
    type Half = GapHalf;
    type Summary = GapSummary;

    fn key(entry: &Entry) -> u64 {
        entry.last
    }

    fn empty(entry: &Entry, side: Side) -> GapHalf {
        Gaps::empty(&entry.extent(), side)
    }

    fn half(entry: &Entry, side: Side, below: &GapSummary) -> GapHalf {
        Gaps::half(&entry.extent(), side, below)
    }

    fn join(entry: &Entry, left: &GapHalf, right: &GapHalf) -> GapSummary {
        Gaps::join(&entry.extent(), left, right)
    }
}

// SAFETY: the links are a field of the entry itself, and belong to one kind of tree.
unsafe impl Linked for EntryGaps {
    fn links(entry: &Entry) -> &Links<Self> {
        &entry.links
    }
}

type Name = Pinned<Entry>;

/// An [`RbTree`] through entries, with any configuration.
pub struct IntrusiveTree<C: Config> {
    // Declared before the entries, so that it is dropped first.
    tree: RbTree<Intrusive<EntryGaps>, C>,
    entries: Box<[Entry]>,
}

impl<C: Config> fmt::Debug for IntrusiveTree<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrusiveTree")
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}

impl<C: Config> IntrusiveTree<C> {
    /// An empty tree, with two nodes for each of `extents`.
    #[must_use]
    pub fn new(extents: &[Reserved]) -> Self {
        let entry = |(node, extent): (usize, &Reserved)| Entry {
            node,
            start: Cell::new(extent.start),
            last: extent.last,
            links: Links::new(),
        };
        let entries = extents
            .iter()
            .chain(extents)
            .enumerate()
            .map(entry)
            .collect();
        Self {
            tree: RbTree::with_config(Intrusive::new()),
            entries,
        }
    }

    fn name(&self, node: usize) -> Name {
        // SAFETY: the entries are boxed, never moved and only shared. They live as long as the
        // tree, which is their only one. `Cell` and `NonNull` keep all of it on one thread.
        unsafe { Pinned::new(NonNull::from(&self.entries[node])) }
    }

    fn node(&self, name: Option<Name>) -> Outcome {
        Outcome::Node(name.map(|name| self.tree.item(name).node))
    }

    fn nodes(&self, names: impl Iterator<Item = Name>) -> Outcome {
        Outcome::Nodes(names.map(|name| self.tree.item(name).node).collect())
    }

    fn inserted(&self, result: Result<(), InsertError<Name>>) -> Outcome {
        match result {
            Ok(()) => Outcome::Done,
            Err(InsertError::Linked) => Outcome::Linked,
            Err(InsertError::Occupied(twin)) => Outcome::Occupied(self.tree.item(twin).node),
        }
    }

    fn insert_beside(&mut self, node: usize, before: bool) -> Outcome {
        let new = self.name(node);
        let key = self.entries[node].last;
        if let (false, Some(twin)) = (self.tree.is_linked(new), self.tree.find(key)) {
            return Outcome::Occupied(self.tree.item(twin).node);
        }
        let next = self.tree.upper_bound(key);
        let result = if before {
            self.tree.insert_before(next, new)
        } else {
            let previous = next.map_or(self.tree.last(), |next| self.tree.prev(next));
            self.tree.insert_after(previous, new)
        };
        self.inserted(result)
    }

    fn remove_from(&mut self, key: u64, count: usize) -> Outcome {
        let mut next = self.tree.lower_bound(key);
        let removed = (0..count).map_while(|_| {
            let at = next?;
            next = self.tree.next(at);
            self.tree.remove(at).ok().map(|()| at)
        });
        let removed: Vec<Name> = removed.collect();
        self.nodes(removed.into_iter())
    }

    fn change(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Insert(node) => {
                let result = self.tree.insert(self.name(node));
                self.inserted(result)
            }
            Operation::InsertBefore(node) => self.insert_beside(node, true),
            Operation::InsertAfter(node) => self.insert_beside(node, false),
            Operation::Remove(node) => match self.tree.remove(self.name(node)) {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::NotLinked,
            },
            Operation::RemoveFrom(key, count) => self.remove_from(key, count),
            Operation::Update(node, start) => {
                self.entries[node].start.set(start);
                // A node that is not linked has no summary to refresh.
                let _ = self.tree.refresh(self.name(node));
                Outcome::Done
            }
            _ => {
                self.tree.clear();
                Outcome::Done
            }
        }
    }
}

impl<C: Config> Subject for IntrusiveTree<C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let tree = &self.tree;
        match *operation {
            Operation::Find(key) => self.node(tree.find(key)),
            Operation::LowerBound(key) => self.node(tree.lower_bound(key)),
            Operation::UpperBound(key) => self.node(tree.upper_bound(key)),
            Operation::First => self.node(tree.first()),
            Operation::Last => self.node(tree.last()),
            Operation::Next(at) => self.node(tree.next(self.name(at))),
            Operation::Prev(at) => self.node(tree.prev(self.name(at))),
            Operation::Forward => self.nodes(tree.iter()),
            Operation::Backward => self.nodes(tree.iter().rev()),
            Operation::Summary => Outcome::Summary(tree.summary()),
            Operation::Insert(_)
            | Operation::InsertBefore(_)
            | Operation::InsertAfter(_)
            | Operation::Remove(_)
            | Operation::RemoveFrom(..)
            | Operation::Update(..)
            | Operation::Clear => self.change(operation),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.tree.check().map_err(|broken| broken.to_string())
    }
}
