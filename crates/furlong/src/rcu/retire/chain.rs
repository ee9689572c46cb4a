//! Linked heads of retired objects.

use core::mem;
use core::ptr::NonNull;

use crate::rcu::{RcuHead, ReclaimFn};

/// Linked heads, all owned by this chain (I4). A chain dropped with heads leaks their objects.
#[derive(Debug)]
pub(crate) struct Chain {
    first: Option<NonNull<RcuHead>>,
    /// The last head, if known. A chain from the inbox does not know it.
    last: Option<NonNull<RcuHead>>,
}

// SAFETY: a chain owns its heads, and their pushers promised that the objects may be reclaimed on
// any thread.
unsafe impl Send for Chain {}

impl Chain {
    /// No heads.
    pub(crate) const EMPTY: Self = Self {
        first: None,
        last: None,
    };

    /// The heads from `first` to the one without a successor.
    ///
    /// # Safety
    ///
    /// The heads are alive, each was prepared, and from now on they are this chain's alone (I4).
    pub(super) unsafe fn from_first(first: Option<NonNull<RcuHead>>) -> Self {
        Self { first, last: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn first(&self) -> Option<NonNull<RcuHead>> {
        self.first
    }

    /// Inserts `head` at the front.
    ///
    /// # Safety
    ///
    /// Same as for [`Batch::push`](crate::rcu::Batch::push).
    pub(crate) unsafe fn push(&mut self, head: NonNull<RcuHead>, reclaim: ReclaimFn) {
        // SAFETY: the caller promises a living head that is in no other chain.
        unsafe { RcuHead::prepare(head, reclaim) };
        self.push_front(Self {
            first: Some(head),
            last: Some(head),
        });
    }

    /// Removes the head at the front; the caller owns it from now on.
    pub(crate) fn pop(&mut self) -> Option<NonNull<RcuHead>> {
        let head = self.first?;
        // SAFETY: the head is this chain's (I4).
        self.first = unsafe { RcuHead::next(head) };
        if self.first.is_none() {
            self.last = None;
        }
        Some(head)
    }

    /// Inserts all heads of `front` before the ones here.
    ///
    /// # Cost
    ///
    /// O(1) if either is empty or the last head of `front` is known, else a walk through `front`.
    pub(crate) fn push_front(&mut self, mut front: Self) {
        if self.is_empty() {
            *self = front;
        } else if let Some(last) = front.find_last() {
            // SAFETY: the head is the last of `front`, which is ours (I4).
            unsafe { RcuHead::set_next(last, self.first) };
            // The heads here follow those of `front`, so `last` is unchanged, known or not.
            self.first = front.first;
        }
    }

    /// Links the last head here to `next`, without owning `next`.
    ///
    /// # Safety
    ///
    /// The chain's owner links it elsewhere, or drops it because another owns the heads now, before
    /// any other use of it.
    pub(super) unsafe fn point_last_at(&mut self, next: Option<NonNull<RcuHead>>) {
        if let Some(last) = self.find_last() {
            // SAFETY: the head is this chain's (I4).
            unsafe { RcuHead::set_next(last, next) };
        }
    }

    /// Splits off the `max` heads at the front, or all of them if there are fewer.
    ///
    /// # Cost
    ///
    /// O(`max`), and O(1) for `usize::MAX`.
    pub(super) fn split_front(&mut self, max: usize) -> Self {
        if max == usize::MAX {
            return mem::replace(self, Self::EMPTY);
        }
        let mut front = Self::EMPTY;
        for _ in 0..max {
            let Some(head) = self.pop() else { break };
            match front.last {
                // SAFETY: the head is the last of `front`, which is ours (I4).
                Some(last) => unsafe { RcuHead::set_next(last, Some(head)) },
                None => front.first = Some(head),
            }
            // SAFETY: popped, so ours.
            unsafe { RcuHead::set_next(head, None) };
            front.last = Some(head);
        }
        front
    }

    /// The last head; walks to it if it is not known.
    fn find_last(&mut self) -> Option<NonNull<RcuHead>> {
        if self.last.is_some() {
            return self.last;
        }
        let mut last = self.first?;
        // SAFETY: the head is this chain's (I4).
        while let Some(next) = unsafe { RcuHead::next(last) } {
            last = next;
        }
        self.last = Some(last);
        self.last
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Chain, NonNull, RcuHead};

    unsafe fn nothing(_: NonNull<RcuHead>) {}

    #[test]
    fn the_last_head_is_known_without_a_walk_until_the_chain_is_empty() {
        let heads = [const { RcuHead::new() }; 3];
        let at = |number: usize| NonNull::from(&heads[number]);
        let mut chain = Chain::EMPTY;
        assert!(chain.is_empty());
        for number in 0..3 {
            // SAFETY: the head is in no other chain, and outlives this one.
            unsafe { chain.push(at(number), nothing) };
            assert!(!chain.is_empty());
            let ends = (chain.first, chain.last);
            assert_eq!(ends, (Some(at(number)), Some(at(0))));
        }
        for number in (0..3).rev() {
            assert_eq!(chain.last, Some(at(0)));
            assert_eq!(chain.pop(), Some(at(number)));
        }
        assert!(chain.is_empty());
        assert_eq!((chain.first, chain.last), (None, None));
    }
}
