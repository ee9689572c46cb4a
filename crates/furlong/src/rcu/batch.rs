//! A chain that a writer fills, to be retired in one go.

use core::ptr::NonNull;

use super::{
    chain::Chain,
    head::{RcuHead, ReclaimFn},
};

/// Objects that were or will be unlinked together, on their way to [`Rcu::retire`].
///
/// A writer fills it under its lock, and retires it there or later with one atomic operation,
/// however many objects are in it. It allocates nothing: the objects are linked through their
/// heads. Dropped with objects in it, it leaks them, since readers may hold them: no harm but
/// memory.
///
/// [`Rcu::retire`]: super::Rcu::retire
#[derive(Debug)]
#[must_use = "objects in a batch that is dropped are leaked; retire it"]
pub struct Batch {
    chain: Chain,
    len: usize,
}

impl Batch {
    /// A batch with nothing in it.
    pub const fn new() -> Self {
        Self {
            chain: Chain::EMPTY,
            len: 0,
        }
    }

    /// The number of objects in it.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the object that `head` is in; `reclaim` will be called with `head`.
    ///
    /// # Safety
    ///
    /// - `head` is alive, in no batch, and stays valid until `reclaim` is called with it. The
    ///   pointer may be used for all of the object that `reclaim` uses: it was made from a pointer
    ///   to the object, not from a reference to the head alone.
    /// - By the time the batch is retired the object has been unlinked: a reader that enters
    ///   later cannot reach it.
    /// - Every reader that can reach the object holds a guard that the one to which the batch is
    ///   retired [covers](super::Rcu::covers).
    /// - After the grace period `reclaim` may be called once with `head`, on any thread that is
    ///   allowed to reclaim there.
    ///
    /// # Cost
    ///
    /// O(1); two words are written.
    pub unsafe fn push(&mut self, head: NonNull<RcuHead>, reclaim: ReclaimFn) {
        // SAFETY: the caller's promises are those that the chain asks for.
        unsafe { self.chain.push(head, reclaim) };
        self.len += 1;
    }

    /// Takes one object out again, for implementers of [`Rcu`](super::Rcu), and for writers that
    /// give an unlinking up.
    ///
    /// The order is not promised.
    pub fn pop(&mut self) -> Option<NonNull<RcuHead>> {
        let head = self.chain.pop()?;
        self.len -= 1;
        Some(head)
    }

    /// Moves all objects of `other` into this batch.
    ///
    /// # Cost
    ///
    /// O(1).
    pub fn append(&mut self, other: Self) {
        self.chain.push_front(other.chain);
        self.len += other.len;
    }

    /// The chain, for the inbox.
    pub(super) fn into_chain(self) -> Chain {
        self.chain
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}
