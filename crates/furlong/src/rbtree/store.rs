//! Arrays of nodes that may grow.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::DerefMut;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};

#[cfg(feature = "alloc")]
use super::NodeId;
use super::{Augment, Node};

/// There is no memory for more nodes; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for more nodes")
    }
}

impl core::error::Error for NoMemory {}

/// An array of nodes, for an [`Arena`](super::Arena).
pub trait Store<A: Augment>: DerefMut<Target = [Node<A>]> {
    /// Makes room for `more` nodes at least; those that are there keep their indices.
    ///
    /// # Errors
    /// [`NoMemory`], always from an array that cannot grow.
    ///
    /// # Cost
    /// O(1) amortised; where memory has to be moved, O(n).
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory>;

    /// Puts a node behind the others, for which there is room.
    ///
    /// # Errors
    /// [`NoMemory`] if there is no room.
    fn push(&mut self, node: Node<A>) -> Result<(), NoMemory>;
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
impl<A: Augment> Store<A> for Box<[Node<A>]> {
    fn try_reserve(&mut self, _more: usize) -> Result<(), NoMemory> {
        Err(NoMemory)
    }

    fn push(&mut self, _node: Node<A>) -> Result<(), NoMemory> {
        Err(NoMemory)
    }
}

impl<A: Augment> Store<A> for &mut [Node<A>] {
    fn try_reserve(&mut self, _more: usize) -> Result<(), NoMemory> {
        Err(NoMemory)
    }

    fn push(&mut self, _node: Node<A>) -> Result<(), NoMemory> {
        Err(NoMemory)
    }
}
