//! The library's tree over an arena.
#![forbid(unsafe_code)]

use furlong::check::Check;
use furlong::iova::{Gaps, Reserved};
use furlong::rbtree::{Config, InsertError, NodeId, RbTree, VecArena};

use super::{Operation, Outcome};
use crate::Subject;

/// An [`RbTree`] over an arena, with any configuration: every arm of `propagation`.
#[derive(Debug)]
pub struct ArenaTree<C: Config> {
    tree: RbTree<VecArena<Gaps>, C>,
}

impl<C: Config> ArenaTree<C> {
    /// An empty tree, with two nodes for each of `extents`.
    #[must_use]
    pub fn new(extents: &[Reserved]) -> Self {
        let nodes = extents.iter().chain(extents).copied().collect();
        Self {
            tree: RbTree::with_config(nodes),
        }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &RbTree<VecArena<Gaps>, C> {
        &self.tree
    }

    fn insert_beside(&mut self, node: usize, before: bool) -> Outcome {
        let key = self.tree.item(id(node)).last;
        if self.tree.is_linked(id(node)) {
            return Outcome::Linked;
        }
        if let Some(twin) = self.tree.find(key) {
            return Outcome::Occupied(twin.index());
        }
        let next = self.tree.upper_bound(key);
        inserted(if before {
            self.tree.insert_before(next, id(node))
        } else {
            let previous = match next {
                Some(next) => self.tree.prev(next),
                None => self.tree.last(),
            };
            self.tree.insert_after(previous, id(node))
        })
    }

    fn remove_from(&mut self, key: u64, count: usize) -> Outcome {
        let mut next = self.tree.lower_bound(key);
        let removed = (0..count).map_while(|_| {
            let at = next?;
            next = self.tree.next(at);
            self.tree.remove(at).ok().map(|()| at)
        });
        Outcome::Nodes(removed.map(NodeId::index).collect())
    }
}

fn id(node: usize) -> NodeId {
    NodeId::from_index(node).expect("an arena has fewer nodes than names")
}

fn node(id: Option<NodeId>) -> Outcome {
    Outcome::Node(id.map(NodeId::index))
}

fn inserted(result: Result<(), InsertError<NodeId>>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(InsertError::Linked) => Outcome::Linked,
        Err(InsertError::Occupied(twin)) => Outcome::Occupied(twin.index()),
    }
}

impl<C: Config> Subject for ArenaTree<C> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let tree = &mut self.tree;
        match *operation {
            Operation::Insert(new) => inserted(tree.insert(id(new))),
            Operation::InsertBefore(new) => self.insert_beside(new, true),
            Operation::InsertAfter(new) => self.insert_beside(new, false),
            Operation::Remove(old) => match tree.remove(id(old)) {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::NotLinked,
            },
            Operation::RemoveFrom(key, count) => self.remove_from(key, count),
            Operation::Update(at, start) => {
                tree.update(id(at), |item| item.start = start);
                Outcome::Done
            }
            Operation::Clear => {
                tree.clear();
                Outcome::Done
            }
            Operation::Find(key) => node(tree.find(key)),
            Operation::LowerBound(key) => node(tree.lower_bound(key)),
            Operation::UpperBound(key) => node(tree.upper_bound(key)),
            Operation::First => node(tree.first()),
            Operation::Last => node(tree.last()),
            Operation::Next(at) => node(tree.next(id(at))),
            Operation::Prev(at) => node(tree.prev(id(at))),
            Operation::Forward => Outcome::Nodes(tree.iter().map(NodeId::index).collect()),
            Operation::Backward => Outcome::Nodes(tree.iter().rev().map(NodeId::index).collect()),
            Operation::Summary => Outcome::Summary(tree.summary()),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.tree.check().map_err(|broken| broken.to_string())
    }
}
