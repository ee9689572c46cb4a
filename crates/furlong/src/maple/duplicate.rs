//! A copy of a whole tree, node by node, in blocks of nodes.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::block::Run;
use super::config::Config;
use super::counters::{Counters, Event};
use super::entry::{Entry, Retire};
use super::inner::{Inner, Item};
use super::leaf::{Leaf, Slot, Word};
use super::link::{Node, Ptr};
use super::map::Maple;
use super::pool::{NoMemory, Nodes, Pool};
use super::session::Session;
use super::shared::RcuMaple;
use super::tree::Tree;
use super::typed::Words;
use crate::addr::{Address, Extent};
use crate::rcu::Rcu;
use crate::sync::RawLock;

/// Why a tree was not duplicated. What was copied has been dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateError<X> {
    /// There is no memory for nodes.
    NoMemory,
    /// An entry was not copied.
    Entry(X),
}

impl<X> From<NoMemory> for DuplicateError<X> {
    fn from(NoMemory: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl<X> fmt::Display for DuplicateError<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMemory => "there is no memory for nodes",
            Self::Entry(_) => "an entry was not copied",
        })
    }
}

impl<X: fmt::Debug> Error for DuplicateError<X> {}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// A copy, node by node, whose entries `copy` makes.
    ///
    /// # Errors
    /// [`DuplicateError`], with what `copy` said.
    ///
    /// # Cost
    /// O(n): each node is read once and written once. Memory is asked for a block of nodes at a
    /// time: see [`Source::BLOCK`](super::Source::BLOCK).
    pub fn duplicate<X>(
        &self,
        copy: impl FnMut(Extent<A>, E::Ref<'_>) -> Result<E, X>,
    ) -> Result<Self, DuplicateError<X>> {
        let mut new = Self::with_config();
        Copying::<C, _>::new(&new.tree, &mut new.pool, &new.count, words(copy)).run(&self.tree)?;
        Ok(new)
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'_, A, E, R, L, C> {
    /// A copy, node by node, whose entries `copy` makes; its readers hold guards of `rcu` and its
    /// writers take `lock`.
    ///
    /// # Errors
    /// [`DuplicateError`], with what `copy` said.
    ///
    /// # Cost
    /// As [`Maple::duplicate`].
    pub fn duplicate<Q: Rcu, M: RawLock, X>(
        &self,
        rcu: Q,
        lock: M,
        copy: impl FnMut(Extent<A>, E::Ref<'_>) -> Result<E, X>,
    ) -> Result<RcuMaple<A, E, Q, M, C>, DuplicateError<X>> {
        let new = RcuMaple::with_config(rcu, lock);
        let mut pool = new.pool.0.lock();
        Copying::<C, _>::new(&new.tree, &mut pool, &new.count, words(copy)).run(&self.map.tree)?;
        drop(pool);
        Ok(new)
    }
}

/// From slot to word what is from entry to entry for the user.
fn words<A: Address, E: Entry, X>(
    copy: impl FnMut(Extent<A>, E::Ref<'_>) -> Result<E, X>,
) -> impl FnMut(Slot) -> Result<Word, X> {
    let mut copy = copy;
    move |slot| {
        let (at, entry) = Words::<A, E>::lend(slot);
        copy(at, entry).map(Entry::into_word)
    }
}

/// What a copy of one tree in another needs.
struct Copying<'a, C: Config, F> {
    tree: &'a Tree<C::Geometry>,
    pool: &'a mut Pool<C::Geometry, C::Source>,
    count: &'a C::Counters,
    copy: F,
    leaves: Run<Leaf<C::Geometry>, C::Source>,
    inners: Run<Inner<C::Geometry>, C::Source>,
    /// Nodes that are still to be copied.
    left: Nodes,
}

/// The copy of a node, as far as it came, and why no further.
type Copied<'a, C, X> = (
    Option<Node<'a, <C as Config>::Geometry>>,
    Result<(), DuplicateError<X>>,
);

impl<'a, C: Config, F, X> Copying<'a, C, F>
where
    F: FnMut(Slot) -> Result<Word, X>,
{
    fn new(
        tree: &'a Tree<C::Geometry>,
        pool: &'a mut Pool<C::Geometry, C::Source>,
        count: &'a C::Counters,
        copy: F,
    ) -> Self {
        Self {
            tree,
            pool,
            count,
            copy,
            leaves: Run::new(),
            inners: Run::new(),
            left: Nodes::default(),
        }
    }

    /// Copies `from`, each node before those below it. What was copied before a failure is in the
    /// tree, to be dropped with it.
    fn run(mut self, from: &Tree<C::Geometry>) -> Result<(), DuplicateError<X>> {
        let Some(root) = from.root.load() else {
            return Ok(());
        };
        self.left = root.count();
        let (copied, result) = self.node(root);
        if let Some(root) = copied {
            self.tree.root.publish(root);
            self.tree.take_notes(from);
        }
        result
    }

    fn node(&mut self, node: Node<'_, C::Geometry>) -> Copied<'a, C, X> {
        self.count.count(Event::NodeStore);
        match node {
            Node::Leaf(leaf) => self.leaf(leaf),
            Node::Inner(inner) => self.inner(inner),
        }
    }

    fn leaf(&mut self, old: Ptr<'_, Leaf<C::Geometry>>) -> Copied<'a, C, X> {
        let wanted = self.left.leaves;
        let Ok(new) = self.leaves.node(self.tree, wanted, Leaf::new) else {
            return (None, Err(DuplicateError::NoMemory));
        };
        self.left.leaves -= 1;
        let mut len = 0;
        let mut result = Ok(());
        for at in 0..old.len() {
            let Some(slot) = old.read(at) else { continue };
            match (self.copy)(slot) {
                Ok(word) => new.put(len, Slot { word, ..slot }),
                Err(refused) => {
                    result = Err(DuplicateError::Entry(refused));
                    break;
                }
            }
            len += 1;
        }
        new.fill(len);
        if len == 0 {
            self.pool.give_up(Node::Leaf(new));
            self.pool.recycle();
            return (None, result);
        }
        (Some(Node::Leaf(new)), result)
    }

    fn inner(&mut self, old: Ptr<'_, Inner<C::Geometry>>) -> Copied<'a, C, X> {
        let wanted = self.left.inners;
        let Ok(new) = self.inners.node(self.tree, wanted, Inner::new) else {
            return (None, Err(DuplicateError::NoMemory));
        };
        self.left.inners -= 1;
        let mut result = Ok(());
        for at in 0..old.len() {
            let Some(child) = old.get().link(at).load() else {
                continue;
            };
            let (copied, below) = self.node(child);
            if let Some(node) = copied {
                new.push(Item {
                    node,
                    pivot: old.pivot(at),
                    gap: old.gap(at),
                });
            }
            result = below;
            if result.is_err() {
                break;
            }
        }
        if new.len() == 0 {
            self.pool.give_up(Node::Inner(new));
            self.pool.recycle();
            return (None, result);
        }
        new.finish();
        (Some(Node::Inner(new)), result)
    }
}
