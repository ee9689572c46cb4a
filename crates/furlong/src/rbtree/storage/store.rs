//! Arrays of nodes, fixed or growable.

use core::ops::DerefMut;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};

pub use crate::error::NoMemory;
#[cfg(feature = "alloc")]
use crate::rbtree::NodeId;
use crate::rbtree::{Augment, Node};

mod sealed {
    pub trait Sealed<A> {}
}
pub(crate) use sealed::Sealed;

/// Nodes by their index, for an [`Arena`](crate::rbtree::Arena): every array of [`Node`]s, and any
/// other storage that finds a node by its index in O(1).
///
/// Only this module implements it. The caller's code, such as the `DerefMut` of an array, runs only
/// when nodes are [borrowed](Self::view) for a change, before the first link is written.
pub trait Slots<A: Augment>: Sealed<A> {
    /// The same nodes through a local reference; see [`view`](Self::view).
    type View<'a>: Slots<A>
    where
        Self: 'a,
        A: 'a;

    /// Borrows the nodes for one change.
    fn view(&mut self) -> Self::View<'_>;

    /// The number of nodes.
    fn count(&self) -> usize;

    /// The node at `index`.
    ///
    /// # Panics
    /// If there is none.
    fn node(&self, index: usize) -> &Node<A>;

    /// The node at `index`, if there is one.
    fn get(&self, index: usize) -> Option<&Node<A>>;

    /// The node at `index`, mutable.
    ///
    /// # Panics
    /// If there is none.
    fn node_mut(&mut self, index: usize) -> &mut Node<A>;
}

impl<A: Augment, S: DerefMut<Target = [Node<A>]>> Sealed<A> for S {}

impl<A: Augment, S: DerefMut<Target = [Node<A>]>> Slots<A> for S {
    type View<'a>
        = &'a mut [Node<A>]
    where
        Self: 'a,
        A: 'a;

    #[inline(always)]
    fn view(&mut self) -> &mut [Node<A>] {
        self
    }

    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn node(&self, index: usize) -> &Node<A> {
        &self[index]
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<&Node<A>> {
        <[_]>::get(self, index)
    }

    #[inline(always)]
    fn node_mut(&mut self, index: usize) -> &mut Node<A> {
        &mut self[index]
    }
}

/// [`Slots`] that may grow. By default they cannot.
pub trait Store<A: Augment>: Slots<A> {
    /// Makes room for at least `more` nodes; existing nodes keep their indices.
    ///
    /// # Errors
    /// [`NoMemory`], always from an array that cannot grow.
    ///
    /// # Cost
    /// O(1) amortised; O(n) if memory has to be moved.
    fn try_reserve(&mut self, _more: usize) -> Result<(), NoMemory> {
        Err(NoMemory)
    }

    /// Appends a node; there must be room.
    ///
    /// # Errors
    /// [`NoMemory`] if there is no room.
    fn push(&mut self, _node: Node<A>) -> Result<(), NoMemory> {
        Err(NoMemory)
    }
}

#[cfg(feature = "alloc")]
impl<A: Augment> Store<A> for Vec<Node<A>> {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        let fits = self.len().saturating_add(more) <= NodeId::COUNT_MAX;
        let room = fits.then(|| Self::try_reserve(self, more));
        room.ok_or(NoMemory)?.map_err(|_| NoMemory)
    }

    fn push(&mut self, node: Node<A>) -> Result<(), NoMemory> {
        if self.len() == self.capacity() {
            return Err(NoMemory);
        }
        Self::push(self, node);
        Ok(())
    }
}

#[cfg(feature = "alloc")]
impl<A: Augment> Store<A> for Box<[Node<A>]> {}

impl<A: Augment> Store<A> for &mut [Node<A>] {}
