//! New nodes, filled from left to right.

use crate::maple::{Geometry, Inner, Item, Leaf, Node, Pool, Ptr, Slot, Source, Tree};

/// The nodes that result from a change at one level: at most three.
pub(super) struct Items<'a, G: Geometry> {
    items: [Option<Item<'a, G>>; 3],
    len: usize,
}

impl<'a, G: Geometry> Items<'a, G> {
    pub(crate) fn new() -> Self {
        Self {
            items: [None; 3],
            len: 0,
        }
    }

    pub(crate) fn push(&mut self, item: Item<'a, G>) {
        self.items[self.len] = Some(item);
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Item<'a, G>> {
        self.items.into_iter().flatten()
    }
}

/// The distribution of `total` items over nodes of `capacity`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    total: usize,
    nodes: usize,
    /// The share of the first of two nodes, if it is not half.
    first: Option<usize>,
}

impl Shares {
    /// Even shares.
    pub(super) fn even(total: usize, capacity: usize) -> Self {
        Self {
            total,
            nodes: total.div_ceil(capacity),
            first: None,
        }
    }

    /// The first of two nodes nearly full, because the next entries are expected behind it.
    pub(super) fn ascending(total: usize, capacity: usize) -> Self {
        let even = Self::even(total, capacity);
        Self {
            first: (total == capacity + 1).then_some(capacity - 1),
            ..even
        }
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// The share of node `at`.
    pub(crate) fn of(&self, at: usize) -> usize {
        match (self.first, at) {
            (Some(first), 0) => first,
            (Some(first), _) => self.total - first,
            (None, at) => self.total / self.nodes + usize::from(at < self.total % self.nodes),
        }
    }
}

/// A builder of leaves.
pub(super) struct Leaves<'a, G: Geometry> {
    shares: Shares,
    leaf: Option<Ptr<'a, Leaf<G>>>,
    /// Slots of the leaf that are written, and slots that it is to have.
    len: usize,
    room: usize,
    items: Items<'a, G>,
}

impl<'a, G: Geometry> Leaves<'a, G> {
    /// A builder of leaves with these `shares`.
    pub(crate) fn new(shares: Shares) -> Self {
        Self {
            shares,
            leaf: None,
            len: 0,
            room: 0,
            items: Items::new(),
        }
    }

    /// The leaf that takes the next entry, which begins at `start`.
    #[inline]
    fn open<S: Source>(
        &mut self,
        start: u64,
        tree: &'a Tree<G>,
        pool: &mut Pool<G, S>,
    ) -> Ptr<'a, Leaf<G>> {
        if let Some(leaf) = self.leaf.filter(|_| self.room > 0) {
            return leaf;
        }
        self.close(start.wrapping_sub(1));
        let leaf = pool.leaf(tree);
        self.leaf = Some(leaf);
        self.len = 0;
        self.room = self.shares.of(self.items.len());
        leaf
    }

    #[inline]
    pub(crate) fn push<S: Source>(&mut self, slot: Slot, tree: &'a Tree<G>, pool: &mut Pool<G, S>) {
        self.open(slot.start, tree, pool).put(self.len, slot);
        self.len += 1;
        self.room -= 1;
    }

    /// Adds the entries in the slots from `from` to `to` of a leaf.
    #[inline]
    pub(super) fn extend<S: Source>(
        &mut self,
        leaf: Ptr<'a, Leaf<G>>,
        from: usize,
        to: usize,
        tree: &'a Tree<G>,
        pool: &mut Pool<G, S>,
    ) {
        let mut from = from;
        while let Some((at, first)) = leaf.entry_from(from).filter(|(at, _)| *at < to) {
            let new = self.open(first.start, tree, pool);
            from = leaf.behind(self.room, at, to);
            let len = new.copy_entries(self.len, leaf.get(), at, from);
            self.room -= len - self.len;
            self.len = len;
        }
    }

    fn close(&mut self, max: u64) {
        if let Some(leaf) = self.leaf.take() {
            leaf.close(self.len);
            self.items.push(Item {
                node: Node::Leaf(leaf),
                pivot: max,
                gap: leaf.largest_gap(max),
            });
        }
    }

    /// Returns the leaves; the last one ends at `max`.
    pub(crate) fn finish(mut self, max: u64) -> Items<'a, G> {
        self.close(max);
        self.items
    }
}

/// A builder of inner nodes.
pub(super) struct Inners<'a, G: Geometry> {
    shares: Shares,
    inner: Option<Ptr<'a, Inner<G>>>,
    room: usize,
    /// The last child, whose pivot may still move.
    pending: Option<Item<'a, G>>,
    items: Items<'a, G>,
}

impl<'a, G: Geometry> Inners<'a, G> {
    pub(crate) fn new(shares: Shares) -> Self {
        Self {
            shares,
            inner: None,
            room: 0,
            pending: None,
            items: Items::new(),
        }
    }

    pub(crate) fn push<S: Source>(
        &mut self,
        item: Item<'a, G>,
        tree: &'a Tree<G>,
        pool: &mut Pool<G, S>,
    ) {
        self.settle(tree, pool);
        self.pending = Some(item);
    }

    /// Adds the children from `from` to `to` of a node.
    pub(super) fn extend<S: Source>(
        &mut self,
        node: Ptr<'a, Inner<G>>,
        from: usize,
        to: usize,
        tree: &'a Tree<G>,
        pool: &mut Pool<G, S>,
    ) {
        let mut from = from;
        while from < to {
            self.settle(tree, pool);
            // The last child of each node and the last one of all wait for their pivots.
            let some = self.room.saturating_sub(1).min(to - from - 1);
            if let Some(inner) = self.inner.filter(|_| some > 0) {
                inner.append(node.get(), from, some);
                self.room -= some;
                from += some;
            }
            if let Some(child) = node.get().link(from).load() {
                self.pending = Some(Item {
                    node: child,
                    pivot: node.pivot(from),
                    gap: node.gap(from),
                });
            }
            from += 1;
        }
    }

    /// Makes the last child end at `pivot`.
    pub(super) fn end_at(&mut self, pivot: u64) {
        if let Some(item) = &mut self.pending {
            item.pivot = pivot;
        }
    }

    fn settle<S: Source>(&mut self, tree: &'a Tree<G>, pool: &mut Pool<G, S>) {
        let Some(item) = self.pending.take() else {
            return;
        };
        if self.room == 0 {
            self.inner = Some(pool.inner(tree));
            self.room = self.shares.of(self.items.len());
        }
        self.room -= 1;
        let Some(inner) = self.inner else { return };
        inner.push(item);
        if self.room == 0 {
            inner.close();
            self.items.push(Item {
                node: Node::Inner(inner),
                pivot: item.pivot,
                gap: inner.largest_gap(),
            });
        }
    }

    /// Returns the nodes; the last one ends at `max`.
    pub(crate) fn finish<S: Source>(
        mut self,
        max: u64,
        tree: &'a Tree<G>,
        pool: &mut Pool<G, S>,
    ) -> Items<'a, G> {
        self.end_at(max);
        self.settle(tree, pool);
        self.items
    }
}
