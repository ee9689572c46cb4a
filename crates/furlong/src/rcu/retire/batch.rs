//! A chain of objects that a writer fills and retires at once.

use core::ptr::NonNull;

use crate::forms::default_is_new;
use crate::rcu::{Chain, RcuHead, ReclaimFn};

/// Objects that were or will be unlinked together, on their way to [`Rcu::retire`].
///
/// A writer fills it under its lock, and retires it there or later with one atomic operation,
/// regardless of its size. It allocates nothing: the objects are linked through their heads. A
/// batch dropped with objects in it leaks them, since readers may still hold them.
///
/// [`Rcu::retire`]: crate::rcu::Rcu::retire
#[derive(Debug)]
#[must_use = "objects in a batch that is dropped are leaked; retire it"]
pub struct Batch {
    chain: Chain,
    len: usize,
}

impl Batch {
    /// An empty batch.
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

    /// Returns true if the batch is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the object that contains `head`; `reclaim` will be called with `head`.
    ///
    /// # Safety
    ///
    /// - `head` is alive, in no batch, and stays valid until `reclaim` is called with it. The
    ///   pointer may be used for every part of the object that `reclaim` uses. So it must be made
    ///   from a pointer to the object, not from a reference to the head alone.
    /// - By the time the batch is retired the object has been unlinked: a reader that enters later
    ///   cannot reach it.
    /// - Every reader that can reach the object holds a guard that the [`Rcu`](crate::rcu::Rcu) to
    ///   which the batch is retired [covers](crate::rcu::Rcu::covers).
    /// - After the grace period `reclaim` may be called once with `head`, on any thread that is
    ///   allowed to reclaim there.
    ///
    /// # Cost
    ///
    /// O(1); two words are written.
    pub unsafe fn push(&mut self, head: NonNull<RcuHead>, reclaim: ReclaimFn) {
        // SAFETY: the caller's promises are exactly those of `Chain::push`.
        unsafe { self.chain.push(head, reclaim) };
        self.len += 1;
    }

    /// Removes one object, for implementers of [`Rcu`](crate::rcu::Rcu) and for writers that
    /// abandon an unlinking.
    ///
    /// The order is unspecified.
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
    pub(crate) fn into_chain(self) -> Chain {
        self.chain
    }
}

default_is_new! { Batch }
