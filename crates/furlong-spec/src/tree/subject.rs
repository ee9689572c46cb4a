//! The library's tree, over any storage of its nodes.
#![forbid(unsafe_code)]

use core::fmt;

use furlong::check::Check;
use furlong::iova::{GapSummary, Reserved};
use furlong::rbtree::{Augment, Config, InsertError, Nodes, RbTree};

use super::{Operation, Outcome};
use crate::Subject;

/// A storage of nodes that have numbers: two nodes for each of some extents.
pub trait Storage: Sized {
    /// The nodes.
    type Nodes: Nodes<Augment: Augment<Key = u64, Summary = GapSummary>>;

    /// Nodes that are in no tree.
    fn of(extents: &[Reserved]) -> (Self::Nodes, Self);

    /// The name of a node.
    fn name(&self, number: usize) -> Name<Self>;

    /// The number of a node.
    fn number(tree: &RbTree<Self::Nodes, impl Config>, name: Name<Self>) -> usize;

    /// Moves the start of a node's extent.
    fn set_start(&self, tree: &mut RbTree<Self::Nodes, impl Config>, number: usize, start: u64);
}

/// A name of a node.
pub(super) type Name<S> = <<S as Storage>::Nodes as Nodes>::Ref;

/// An [`RbTree`], with any configuration: every arm of `propagation`.
pub struct TreeSubject<S: Storage, C: Config> {
    // Declared before the storage, so that it is dropped first.
    tree: RbTree<S::Nodes, C>,
    storage: S,
}

impl<S: Storage, C: Config> fmt::Debug for TreeSubject<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeSubject")
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}

impl<S: Storage, C: Config> TreeSubject<S, C> {
    /// An empty tree, with two nodes for each of `extents`.
    #[must_use]
    pub fn new(extents: &[Reserved]) -> Self {
        let (nodes, storage) = S::of(extents);
        let tree = RbTree::with_config(nodes);
        Self { tree, storage }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &RbTree<S::Nodes, C> {
        &self.tree
    }

    fn node(&self, name: Option<Name<S>>) -> Outcome {
        Outcome::Node(name.map(|name| S::number(&self.tree, name)))
    }

    fn nodes(&self, names: impl Iterator<Item = Name<S>>) -> Outcome {
        Outcome::Nodes(names.map(|name| S::number(&self.tree, name)).collect())
    }

    fn inserted(&self, result: Result<(), InsertError<Name<S>>>) -> Outcome {
        match result {
            Ok(()) => Outcome::Done,
            Err(InsertError::Linked) => Outcome::Linked,
            Err(InsertError::Occupied(twin)) => Outcome::Occupied(S::number(&self.tree, twin)),
        }
    }

    fn insert_beside(&mut self, number: usize, before: bool) -> Outcome {
        let new = self.storage.name(number);
        let key = <S::Nodes as Nodes>::Augment::key(self.tree.item(new));
        if let (false, Some(twin)) = (self.tree.is_linked(new), self.tree.find(key)) {
            return Outcome::Occupied(S::number(&self.tree, twin));
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
        let removed: Vec<_> = removed.collect();
        self.nodes(removed.into_iter())
    }
}

impl<S: Storage, C: Config> Subject for TreeSubject<S, C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let (tree, storage) = (&mut self.tree, &self.storage);
        match *operation {
            Operation::Insert(new) => {
                let result = tree.insert(storage.name(new));
                self.inserted(result)
            }
            Operation::InsertBefore(new) => self.insert_beside(new, true),
            Operation::InsertAfter(new) => self.insert_beside(new, false),
            Operation::Remove(old) => match tree.remove(storage.name(old)) {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::NotLinked,
            },
            Operation::RemoveFrom(key, count) => self.remove_from(key, count),
            Operation::Update(at, start) => {
                storage.set_start(tree, at, start);
                Outcome::Done
            }
            Operation::Clear => {
                tree.clear();
                Outcome::Done
            }
            Operation::Find(key) => self.node(self.tree.find(key)),
            Operation::LowerBound(key) => self.node(self.tree.lower_bound(key)),
            Operation::UpperBound(key) => self.node(self.tree.upper_bound(key)),
            Operation::First => self.node(self.tree.first()),
            Operation::Last => self.node(self.tree.last()),
            Operation::Next(at) => self.node(self.tree.next(storage.name(at))),
            Operation::Prev(at) => self.node(self.tree.prev(storage.name(at))),
            Operation::Forward => self.nodes(self.tree.iter()),
            Operation::Backward => self.nodes(self.tree.iter().rev()),
            Operation::Summary => Outcome::Summary(self.tree.summary()),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.tree.check().map_err(|broken| broken.to_string())
    }
}
