//! A copy of a whole tree, node by node, in blocks of nodes.

#[cfg(feature = "alloc")]
use core::any::Any;

use crate::error::messages;

use crate::addr::{Address, Extent};
#[cfg(feature = "alloc")]
use crate::maple::read::view::View;
use crate::maple::{
    Config, Counters, Entry, Event, Geometry, Inner, Item, Leaf, Maple, NoMemory, Node, Nodes, Ptr,
    RcuMaple, Retire, Run, Session, Slot, Tree, Word, Words,
};
use crate::rcu::Rcu;
use crate::sync::RawLock;

/// The reason why a tree was not duplicated. The copied part is dropped, as it is if `copy` panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateError<X> {
    /// Out of memory for nodes.
    NoMemory,
    /// `copy` refused an entry.
    Entry(X),
}

messages! { DuplicateError<X> where [X: core::fmt::Debug]:
    Self::NoMemory => "out of memory for nodes";
    Self::Entry(..) => "an entry was not copied";
}

impl<X> From<NoMemory> for DuplicateError<X> {
    fn from(NoMemory: NoMemory) -> Self {
        Self::NoMemory
    }
}

impl<A: Address, E: Entry, C: Config> Maple<A, E, C> {
    /// Duplicates the map, node by node; `copy` makes the entries.
    ///
    /// # Errors
    /// [`DuplicateError`], with the error of `copy`.
    ///
    /// # Cost
    /// O(n): each node is read once and written once. Memory is allocated one block of nodes at a
    /// time: see [`Source::BLOCK`](crate::maple::Source::BLOCK).
    pub fn duplicate<X>(
        &self,
        copy: impl FnMut(Extent<A>, E::Ref<'_>) -> Result<E, X>,
    ) -> Result<Self, DuplicateError<X>> {
        let new = Self::with_config();
        Copying::<C, _>::new(&new.tree, &new.count, words::<A, E, X>(copy)).run(&self.tree)?;
        Ok(new)
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'_, A, E, R, L, C> {
    /// Duplicates the map, node by node; `copy` makes the entries. Readers of the copy hold guards
    /// of `rcu`, and its writers take `lock`.
    ///
    /// # Errors
    /// [`DuplicateError`], with the error of `copy`.
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
        Copying::<C, _>::new(&new.tree, &new.count, words::<A, E, X>(copy)).run(&self.map.tree)?;
        Ok(new)
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Session<'_, A, E, R, L, C> {
    /// Moves the whole content of another map into this empty one. Readers see it appear at once.
    #[cfg(feature = "alloc")]
    pub(crate) fn adopt(&mut self, other: Maple<A, E, C>) {
        debug_assert!(self.view().is_empty(), "the previous entries would be lost");
        self.map.tree.take(&other.tree);
        drop(other);
    }
}

#[cfg(feature = "alloc")]
impl<'a, A: Address, E: Entry, C: Config> View<'a, A, E, C> {
    /// Duplicates the tree with entries of another type, node by node. Returns `None` if the nodes
    /// of `D` have another geometry. Nobody may change the tree meanwhile.
    #[cfg(feature = "alloc")]
    pub(crate) fn duplicate<F: Entry, D: Config, X>(
        self,
        mut copy: impl FnMut(Extent<A>, E::Ref<'a>) -> Result<F, X>,
    ) -> Option<Result<Maple<A, F, D>, DuplicateError<X>>> {
        let tree: &dyn Any = self.tree;
        let tree = tree.downcast_ref::<Tree<D::Geometry>>()?;
        let new = Maple::with_config();
        let copy = |slot| {
            let (at, entry) = Words::<A, E>::lend(slot);
            copy(at, entry).map(Entry::into_word)
        };
        let copied = Copying::<D, _>::new(&new.tree, &new.count, copy).run(tree);
        Some(copied.map(|()| new))
    }
}

/// Turns a function from entry to entry into one from slot to word.
fn words<A: Address, E: Entry, X>(
    copy: impl FnMut(Extent<A>, E::Ref<'_>) -> Result<E, X>,
) -> impl FnMut(Slot) -> Result<Word, X> {
    let mut copy = copy;
    move |slot| {
        let (at, entry) = Words::<A, E>::lend(slot);
        copy(at, entry).map(Entry::into_word)
    }
}

/// The state of a copy from one tree into another.
struct Copying<'a, C: Config, F> {
    tree: &'a Tree<C::Geometry>,
    count: &'a C::Counters,
    copy: F,
    leaves: Run<Leaf<C::Geometry>, C::Source>,
    inners: Run<Inner<C::Geometry>, C::Source>,
    /// Nodes that are still to be copied.
    left: Nodes,
}

impl<'a, C: Config, F, X> Copying<'a, C, F>
where
    F: FnMut(Slot) -> Result<Word, X>,
{
    fn new(tree: &'a Tree<C::Geometry>, count: &'a C::Counters, copy: F) -> Self {
        Self {
            tree,
            count,
            copy,
            leaves: Run::new(),
            inners: Run::new(),
            left: Nodes::default(),
        }
    }

    /// Copies `from`, each node before its children. The part copied before a failure or a panic is
    /// in the tree, and is dropped with it.
    fn run(mut self, from: &Tree<C::Geometry>) -> Result<(), DuplicateError<X>> {
        let Some(root) = from.root.load() else {
            return Ok(());
        };
        self.left = root.count();
        let new = self.fresh(root)?;
        self.tree.root.publish(new);
        self.fill(new, root)?;
        self.tree.take_notes(from);
        Ok(())
    }

    /// An empty node for a copy of `old`.
    fn fresh(
        &mut self,
        old: Node<'_, C::Geometry>,
    ) -> Result<Node<'a, C::Geometry>, DuplicateError<X>> {
        let Nodes { leaves, inners } = self.left;
        self.count.count(Event::NodeStore);
        Ok(match old {
            Node::Leaf(_) => {
                self.left.leaves -= 1;
                Node::Leaf(self.leaves.node(self.tree, leaves, Leaf::new)?)
            }
            Node::Inner(_) => {
                self.left.inners -= 1;
                Node::Inner(self.inners.node(self.tree, inners, Inner::new)?)
            }
        })
    }

    /// Copies the content of `old` into `new`, which is already linked into the tree.
    fn fill(
        &mut self,
        new: Node<'a, C::Geometry>,
        old: Node<'_, C::Geometry>,
    ) -> Result<(), DuplicateError<X>> {
        match (new, old) {
            (Node::Leaf(new), Node::Leaf(old)) => self.leaf(new, old),
            (Node::Inner(new), Node::Inner(old)) => self.inner(new, old),
            _ => unreachable!("a copy is of the kind of the node that it is made for"),
        }
    }

    fn leaf(
        &mut self,
        new: Ptr<'a, Leaf<C::Geometry>>,
        old: Ptr<'_, Leaf<C::Geometry>>,
    ) -> Result<(), DuplicateError<X>> {
        let mut filling = Filling { leaf: new, len: 0 };
        for at in 0..old.len() {
            let Some(slot) = old.read(at) else { continue };
            let word = (self.copy)(slot).map_err(DuplicateError::Entry)?;
            new.put(filling.len, Slot { word, ..slot });
            filling.len += 1;
        }
        Ok(())
    }

    fn inner(
        &mut self,
        new: Ptr<'a, Inner<C::Geometry>>,
        old: Ptr<'_, Inner<C::Geometry>>,
    ) -> Result<(), DuplicateError<X>> {
        for at in 0..old.len() {
            let Some(child) = old.get().link(at).load() else {
                continue;
            };
            let node = self.fresh(child)?;
            new.push(Item {
                node,
                pivot: old.pivot(at),
                gap: old.gap(at),
            });
            self.fill(node, child)?;
        }
        new.finish();
        Ok(())
    }
}

/// A leaf that is being filled. Its drop closes it with the slots written so far, also after a
/// panic.
struct Filling<'a, G: Geometry> {
    leaf: Ptr<'a, Leaf<G>>,
    len: usize,
}

impl<G: Geometry> Drop for Filling<'_, G> {
    fn drop(&mut self) {
        self.leaf.fill(self.len);
    }
}
