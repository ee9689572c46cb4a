//! An inner node: children, the pivots between them, and the largest gap below each.

use super::leaf::rank;
use super::link::Link;
use crate::forms::copies;
use crate::maple::{Geometry, Node, Row};
use crate::rcu::RcuHead;
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// One child of an inner node.
pub(crate) struct Item<'a, G: Geometry> {
    pub(crate) node: Node<'a, G>,
    /// The last index that belongs to the child.
    pub(crate) pivot: u64,
    /// The largest gap below it.
    pub(crate) gap: u64,
}

copies! { Item<'_, G> where [G: Geometry]; }

/// Children in three arrays. The pivot of the last child is MAX, whatever the node's own end is,
/// and so are the unused pivots.
///
/// Readers use pivots, children and the length, which stays the same once `link-publish` has shown
/// the node to them; only the writer uses the rest.
#[repr(C)]
pub(crate) struct Inner<G: Geometry> {
    pivot: G::Inner<AtomicU64>,
    child: G::Inner<Link<G>>,
    gap: G::Inner<AtomicU64>,
    largest: AtomicU64,
    /// A bound: no gap below any child but the widest one exceeds it.
    others: AtomicU64,
    len: AtomicU8,
    /// A child with the largest gap.
    widest: AtomicU8,
    /// The node's place in its block: see [`Kind`](crate::maple::memory::block::Kind).
    pub(crate) place: u8,
    _room: [u8; 5],
    pub(crate) head: RcuHead,
}

impl<G: Geometry> Inner<G> {
    /// A node without children.
    pub(crate) fn new(place: u8) -> Self {
        Self {
            pivot: G::Inner::from_fn(|_| AtomicU64::new(u64::MAX)),
            child: G::Inner::from_fn(|_| Link::none()),
            gap: G::Inner::from_fn(|_| AtomicU64::new(0)),
            largest: AtomicU64::new(0),
            others: AtomicU64::new(0),
            len: AtomicU8::new(0),
            widest: AtomicU8::new(0),
            place,
            _room: [0; 5],
            head: RcuHead::new(),
        }
    }

    /// The number of children.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: with readers it was stored before `link-publish`, and stays.
        usize::from(self.len.load(Ordering::Relaxed))
    }

    /// The child that `key` belongs to.
    #[inline(always)]
    pub(crate) fn rank(&self, key: u64) -> usize {
        rank::<true>(self.pivot.as_slice(), key)
    }

    #[inline(always)]
    pub(crate) fn pivot(&self, at: usize) -> u64 {
        // Relaxed: a pivot moves only over indices without entries on either side, so the old one
        // and the new one lead to the same answer.
        self.pivot.as_slice()[at].load(Ordering::Relaxed)
    }

    /// The link to a child.
    #[inline(always)]
    pub(crate) fn link(&self, at: usize) -> &Link<G> {
        &self.child.as_slice()[at]
    }

    #[inline(always)]
    pub(crate) fn gap(&self, at: usize) -> u64 {
        // Relaxed: only the writer uses it.
        self.gap.as_slice()[at].load(Ordering::Relaxed)
    }

    /// The largest gap below the node.
    #[inline(always)]
    pub(crate) fn largest_gap(&self) -> u64 {
        // Relaxed: only the writer uses it.
        self.largest.load(Ordering::Relaxed)
    }

    /// Moves the pivot between two children. Beside readers, only over indices without entries.
    pub(crate) fn set_pivot(&self, at: usize, pivot: u64) {
        // Relaxed: see `pivot`.
        self.pivot.as_slice()[at].store(pivot, Ordering::Relaxed);
    }

    /// The bound on the gaps below all children but the widest, and that child.
    pub(crate) fn others(&self) -> (u64, usize) {
        // Relaxed, both: only the writer uses them.
        let widest = usize::from(self.widest.load(Ordering::Relaxed));
        (self.others.load(Ordering::Relaxed), widest)
    }

    /// Notes the largest gap below a child. Returns true if the node's own largest gap changed.
    #[inline]
    pub(crate) fn set_gap(&self, at: usize, gap: u64) -> bool {
        // Relaxed here and below: only the writer uses gaps.
        self.gap.as_slice()[at].store(gap, Ordering::Relaxed);
        let (largest, (others, widest)) = (self.largest_gap(), self.others());
        if at == widest && gap < others {
            self.find_largest();
            return self.largest_gap() != largest;
        }
        if at == widest || gap > largest {
            let others = if at == widest { others } else { largest };
            self.set_largest(gap, others, at);
            return gap != largest;
        }
        if gap > others {
            self.others.store(gap, Ordering::Relaxed);
        }
        false
    }

    /// Recomputes the largest gap.
    pub(super) fn find_largest(&self) {
        let (mut largest, mut others, mut widest) = (0, 0, 0);
        for at in 0..self.len() {
            let gap = self.gap(at);
            others = others.max(gap.min(largest));
            widest = if gap > largest { at } else { widest };
            largest = largest.max(gap);
        }
        self.set_largest(largest, others, widest);
    }

    fn set_largest(&self, largest: u64, others: u64, widest: usize) {
        // Relaxed, all: only the writer uses them.
        self.largest.store(largest, Ordering::Relaxed);
        self.others.store(others, Ordering::Relaxed);
        self.widest.store(widest as u8, Ordering::Relaxed);
    }

    /// Adds a child behind all others. Not beside readers. The node is valid after `close`.
    #[inline(always)]
    pub(crate) fn push(&self, item: Item<'_, G>) {
        let at = self.len();
        self.put(at, item);
        self.set_len(at + 1);
    }

    /// Overwrites a child. Not beside readers.
    #[inline(always)]
    pub(crate) fn put(&self, at: usize, item: Item<'_, G>) {
        self.set_pivot(at, item.pivot);
        self.link(at).put(item.node);
        // Relaxed: only the writer uses it.
        self.gap.as_slice()[at].store(item.gap, Ordering::Relaxed);
    }

    /// Copies the children `from..` to `to..`, and adapts the length. Not beside readers. The node
    /// is valid after `finish`.
    pub(crate) fn shift(&self, from: usize, to: usize) {
        let len = self.len();
        if to > from {
            for at in (from..len).rev() {
                self.copy_child(at, at + to - from);
            }
        } else {
            for at in from..len {
                self.copy_child(at, at - (from - to));
            }
            for at in len - (from - to)..len {
                self.clear(at);
            }
        }
        self.set_len(len + to - from);
    }

    fn copy_child(&self, from: usize, to: usize) {
        self.set_pivot(to, self.pivot(from));
        self.link(to).copy(self.link(from));
        // Relaxed: only the writer uses it.
        self.gap.as_slice()[to].store(self.gap(from), Ordering::Relaxed);
    }

    fn clear(&self, at: usize) {
        self.set_pivot(at, u64::MAX);
        self.link(at).clear();
    }

    /// Sets the last pivot to MAX, and finds the largest gap.
    pub(crate) fn finish(&self) {
        if let Some(last) = self.len().checked_sub(1) {
            self.set_pivot(last, u64::MAX);
        }
        self.find_largest();
    }

    /// Empties a node of any tree, to be filled and closed. Not beside readers.
    pub(crate) fn open(&self) {
        self.set_len(0);
    }

    /// After `open` and pushes: clears the unused places, and finishes the node.
    pub(crate) fn close(&self) {
        for at in self.len()..G::INNER {
            self.clear(at);
        }
        self.finish();
    }

    /// Adds the children `from..from + len` of another node behind all others. Not beside readers
    /// of this node, which is valid after `close`.
    #[inline]
    pub(crate) fn append(&self, other: &Self, from: usize, len: usize) {
        let to = self.len();
        for at in 0..len {
            self.set_pivot(to + at, other.pivot(from + at));
        }
        for at in 0..len {
            self.link(to + at).copy(other.link(from + at));
        }
        for at in 0..len {
            // Relaxed: only the writer uses it.
            self.gap.as_slice()[to + at].store(other.gap(from + at), Ordering::Relaxed);
        }
        self.set_len(to + len);
    }

    fn set_len(&self, len: usize) {
        // Relaxed: no reader has reached the node yet, or there are none.
        self.len.store(len as u8, Ordering::Relaxed);
    }
}
