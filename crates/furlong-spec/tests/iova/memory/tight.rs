//! An array of nodes that allocates whenever it needs a node.

use core::ops::{Deref, DerefMut};

use furlong::rbtree::{Augment, NoMemory, Node, Store};

/// An array without spare capacity.
pub(crate) struct Tight<A: Augment>(pub(crate) Vec<Node<A>>);

impl<A: Augment> Deref for Tight<A> {
    type Target = [Node<A>];

    fn deref(&self) -> &[Node<A>] {
        &self.0
    }
}

impl<A: Augment> DerefMut for Tight<A> {
    fn deref_mut(&mut self) -> &mut [Node<A>] {
        &mut self.0
    }
}

impl<A: Augment> Store<A> for Tight<A> {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        self.0.try_reserve_exact(more).map_err(|_| NoMemory)
    }

    fn push(&mut self, node: Node<A>) -> Result<(), NoMemory> {
        Store::push(&mut self.0, node)
    }
}
