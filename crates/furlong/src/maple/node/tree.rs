//! The state that readers and the writer share: the root, and the descent from it.

use super::link::Link;
use crate::forms::copies;
use crate::maple::{Counters, Event, Geometry, Inner, Leaf, Node, Ptr, Row, Slot};
use crate::sync::{
    atomic::{AtomicU64, AtomicUsize, Ordering},
    const_unless_loom,
};

/// The root.
pub(crate) struct Tree<G: Geometry> {
    pub(crate) root: Link<G>,
    notes: Notes,
}

/// The writer's notes about the whole tree, off the cache line that readers use.
#[repr(align(64))]
struct Notes {
    /// The largest gap between two entries.
    gap: AtomicU64,
    /// The first index of the first entry and the last index of the last one, if there is one.
    first: AtomicU64,
    last: AtomicU64,
    /// The number of entries.
    len: AtomicUsize,
}

/// A child on the path from the root.
pub(crate) struct Step<'a, G: Geometry> {
    pub(crate) node: Ptr<'a, Inner<G>>,
    pub(crate) at: usize,
}

copies! { Step<'_, G> where [G: Geometry]; }

/// A leaf, and the path to it.
pub(crate) struct Spot<'a, G: Geometry> {
    steps: G::Path<Option<Step<'a, G>>>,
    pub(crate) height: usize,
    leaf: Option<Ptr<'a, Leaf<G>>>,
    /// The first index that belongs to the leaf.
    pub(crate) min: u64,
    /// The last one.
    pub(crate) max: u64,
}

/// The content at an index: an entry, or a gap from `start` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Entry(Slot),
    Gap { start: u64, last: u64 },
}

impl<G: Geometry> Tree<G> {
    const_unless_loom! {
        pub(crate) const fn new() -> Self {
            // A geometry that cannot hold a tree does not compile, not even for an empty one.
            const { assert!(G::LEAF > 0 && G::INNER > 0 && G::DEPTH > 0) };
            Self {
                root: Link::none(),
                notes: Notes {
                    gap: AtomicU64::new(0),
                    first: AtomicU64::new(0),
                    last: AtomicU64::new(0),
                    len: AtomicUsize::new(0),
                },
            }
        }
    }

    /// The largest gap between two entries.
    #[inline]
    pub(crate) fn largest_gap(&self) -> u64 {
        // Relaxed: only the writer uses it.
        self.notes.gap.load(Ordering::Relaxed)
    }

    pub(crate) fn set_largest_gap(&self, gap: u64) {
        // Relaxed: only the writer uses it.
        self.notes.gap.store(gap, Ordering::Relaxed);
    }

    /// The first index of the first entry and the last index of the last one. The tree has one.
    #[inline]
    pub(crate) fn outer(&self) -> (u64, u64) {
        let Notes { first, last, .. } = &self.notes;
        // Relaxed, both: only the writer uses them.
        (first.load(Ordering::Relaxed), last.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn note_first(&self, start: u64) {
        // Relaxed: only the writer uses it.
        self.notes.first.store(start, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn note_last(&self, last: u64) {
        // Relaxed: only the writer uses it.
        self.notes.last.store(last, Ordering::Relaxed);
    }

    /// The same two indices, found by a descent.
    pub(crate) fn find_outer(&self) -> Option<(u64, u64)> {
        let leaf_at = |end: fn(usize) -> usize| {
            let mut node = self.root.load()?;
            loop {
                match node {
                    Node::Leaf(leaf) => return Some(leaf),
                    Node::Inner(inner) => node = inner.get().link(end(inner.len())).load()?,
                }
            }
        };
        let (_, first) = leaf_at(|_| 0)?.entry_from(0)?;
        let leaf = leaf_at(|len| len - 1)?;
        let (_, last) = leaf.entry_before(leaf.len())?;
        Some((first.start, last.last))
    }

    /// Notes the two indices.
    pub(crate) fn note_outer(&self) {
        if let Some((first, last)) = self.find_outer() {
            self.note_first(first);
            self.note_last(last);
        }
    }

    /// The largest gap of all, in a space that ends at `end`; `u64::MAX` also for all of 64 bits,
    /// whose length is one more.
    pub(crate) fn widest_gap(&self, end: u64) -> u64 {
        if self.root.load().is_none() {
            return end.saturating_add(1);
        }
        let (first, last) = self.outer();
        self.largest_gap().max(first).max(end - last)
    }

    /// The number of entries. Beside a writer it may be out of date at once.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: a count, which leads to no other memory.
        self.notes.len.load(Ordering::Relaxed)
    }

    pub(crate) fn set_len(&self, len: usize) {
        // Relaxed: as in `len`.
        self.notes.len.store(len, Ordering::Relaxed);
    }

    /// Notes that `came` entries were added, and `went` removed.
    #[inline(always)]
    pub(crate) fn change_len(&self, came: usize, went: usize) {
        self.set_len(self.len() + came - went);
    }

    /// Moves all nodes of another tree into this one, which has none yet.
    pub(crate) fn take(&self, other: &Self) {
        if let Some(root) = other.root.load() {
            self.root.publish(root);
        }
        self.take_notes(other);
        other.root.clear();
        other.set_largest_gap(0);
        other.set_len(0);
    }

    /// Copies the notes of another tree.
    pub(crate) fn take_notes(&self, other: &Self) {
        let (first, last) = other.outer();
        self.note_first(first);
        self.note_last(last);
        self.set_largest_gap(other.largest_gap());
        self.set_len(other.len());
    }

    /// The slot that contains `key`.
    #[inline(always)]
    pub(crate) fn load(&self, key: u64, count: &impl Counters) -> Option<Slot> {
        let mut node = self.root.load()?;
        loop {
            count.count(Event::Visit);
            match node {
                Node::Inner(inner) => {
                    let inner = inner.get();
                    node = inner.link(inner.rank(key)).load()?;
                }
                Node::Leaf(leaf) => {
                    let at = leaf.rank(key);
                    if at >= G::LEAF {
                        return None;
                    }
                    let slot = leaf.read(at)?;
                    return (slot.start <= key && key <= slot.last).then_some(slot);
                }
            }
        }
    }

    /// The leaf that `key` belongs to, and the path to it; none in an empty tree.
    #[inline]
    pub(crate) fn descend(&self, key: u64, count: &impl Counters) -> Option<Spot<'_, G>> {
        let mut spot = Spot::new();
        self.descend_to(key, &mut spot, count).then_some(spot)
    }

    /// As `descend`, into a spot of the caller's, because a spot is large.
    #[inline(always)]
    pub(crate) fn descend_to<'a>(
        &'a self,
        key: u64,
        spot: &mut Spot<'a, G>,
        count: &impl Counters,
    ) -> bool {
        let Some(mut node) = self.root.load() else {
            return false;
        };
        let (mut height, mut min, mut max) = (0, 0, u64::MAX);
        loop {
            count.count(Event::Visit);
            match node {
                Node::Inner(inner) => {
                    let at = inner.rank(key);
                    if at > 0 {
                        min = inner.pivot(at - 1) + 1;
                    }
                    max = max.min(inner.pivot(at));
                    spot.steps.as_mut_slice()[height] = Some(Step { node: inner, at });
                    height += 1;
                    let Some(child) = inner.get().link(at).load() else {
                        return false;
                    };
                    node = child;
                }
                Node::Leaf(leaf) => {
                    spot.leaf = Some(leaf);
                    (spot.height, spot.min, spot.max) = (height, min, max);
                    return true;
                }
            }
        }
    }

    /// The entry or the gap at `key`, with its extent.
    pub(crate) fn walk(&self, key: u64, count: &impl Counters) -> Found {
        let Some(spot) = self.descend(key, count) else {
            return Found::Gap {
                start: 0,
                last: u64::MAX,
            };
        };
        let at = spot.leaf().rank(key);
        let next = spot.leaf().first_from(at);
        if let Some((_, slot)) = next.filter(|(_, slot)| slot.start <= key && key <= slot.last) {
            return Found::Entry(slot);
        }
        // Beside a writer the neighbours may have moved; then the gap ends at `key`.
        let above = next.map_or(spot.max, |(_, slot)| slot.start.saturating_sub(1));
        let before = spot.leaf().last_before(at);
        let below = before.map_or(spot.min, |(_, slot)| slot.last.saturating_add(1));
        Found::Gap {
            start: below.min(key),
            last: above.max(key),
        }
    }
}

impl<'a, G: Geometry> Spot<'a, G> {
    /// An empty spot.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            steps: G::Path::from_fn(|_| None),
            height: 0,
            leaf: None,
            min: 0,
            max: u64::MAX,
        }
    }

    /// The leaf.
    #[inline(always)]
    pub(crate) fn leaf(&self) -> Ptr<'a, Leaf<G>> {
        self.leaf.expect("a spot has a leaf when it was found")
    }

    /// The step at a depth, counted from the root.
    #[inline(always)]
    pub(crate) fn step(&self, depth: usize) -> Step<'a, G> {
        self.steps.as_slice()[depth].expect("the way down has a step at each depth")
    }

    /// True if the leaf is the first of the tree.
    pub(crate) fn is_first(&self) -> bool {
        self.min == 0
    }

    /// The last index that belongs to child `at` of the node at `depth`.
    pub(crate) fn end_of(&self, depth: usize, at: usize) -> u64 {
        let mut at = at;
        for depth in (0..=depth).rev() {
            let step = self.step(depth);
            if at + 1 < step.node.len() {
                return step.node.pivot(at);
            }
            if depth > 0 {
                at = self.step(depth - 1).at;
            }
        }
        u64::MAX
    }

    /// Moves to the next leaf. Returns false at the last one, and stays.
    pub(crate) fn next_leaf(&mut self, count: &impl Counters) -> bool {
        let turn = (0..self.height).rev().find(|depth| {
            let step = self.step(*depth);
            step.at + 1 < step.node.len()
        });
        turn.is_some_and(|depth| self.turn(depth, self.step(depth).at + 1, false, count))
    }

    /// Moves to the previous leaf. Returns false at the first one, and stays.
    pub(crate) fn previous_leaf(&mut self, count: &impl Counters) -> bool {
        let turn = (0..self.height)
            .rev()
            .find(|depth| self.step(*depth).at > 0);
        turn.is_some_and(|depth| self.turn(depth, self.step(depth).at - 1, true, count))
    }

    /// Moves to child `at` at `depth`, and from there to its first or its last leaf.
    fn turn(&mut self, depth: usize, at: usize, to_last: bool, count: &impl Counters) -> bool {
        let (mut depth, mut at) = (depth, at);
        let mut node = self.step(depth).node;
        loop {
            count.count(Event::Visit);
            self.steps.as_mut_slice()[depth] = Some(Step { node, at });
            match node.get().link(at).load() {
                Some(Node::Inner(inner)) => {
                    node = inner;
                    depth += 1;
                    at = if to_last { inner.len() - 1 } else { 0 };
                }
                Some(Node::Leaf(leaf)) => {
                    self.leaf = Some(leaf);
                    return true;
                }
                None => return false,
            }
        }
    }
}
