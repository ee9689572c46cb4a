//! Removal of the nodes that a change replaces, and of all nodes below them.

use crate::maple::{Config, Inner, Leaf, Node, Ptr, Spot, Write};

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Gives up the two leaves, all nodes between them, and the nodes above one of them that are
    /// not above both. It works from right to left, so that displaced entries come back in order.
    /// Returns the number of entries in them.
    pub(super) fn give_up_between(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        displaces: bool,
    ) -> usize {
        let mut entries = self.give_up_leaf(right.leaf(), displaces);
        if left.leaf().is(right.leaf()) {
            return entries;
        }
        let height = left.height;
        let parts = (0..height).find(|depth| left.step(*depth).at != right.step(*depth).at);
        let Some(parts) = parts else { return entries };
        for depth in (parts + 1..height).rev() {
            let step = right.step(depth);
            entries += self.give_up_children(step.node, 0, step.at);
            self.pool.give_up(Node::Inner(step.node));
        }
        let (first, last) = (left.step(parts), right.step(parts));
        entries += self.give_up_children(first.node, first.at + 1, last.at);
        for depth in parts + 1..height {
            let step = left.step(depth);
            entries += self.give_up_children(step.node, step.at + 1, step.node.len());
            self.pool.give_up(Node::Inner(step.node));
        }
        entries + self.give_up_leaf(left.leaf(), displaces)
    }

    fn give_up_leaf(&mut self, leaf: Ptr<'a, Leaf<C::Geometry>>, displaces: bool) -> usize {
        if displaces {
            self.displaced.leaves.take(leaf);
        } else {
            self.pool.give_up(Node::Leaf(leaf));
        }
        leaf.live()
    }

    /// Removes all nodes, and displaces all entries. It needs no memory.
    pub(crate) fn unlink_subtree(&mut self) {
        if let Some(root) = self.tree.root.load() {
            self.give_up_below(root);
        }
        self.tree.root.clear();
        self.tree.set_largest_gap(0);
        self.tree.set_len(0);
    }

    /// Gives up the children of a node from `from` to `to`, with all nodes below them.
    fn give_up_children(
        &mut self,
        node: Ptr<'a, Inner<C::Geometry>>,
        from: usize,
        to: usize,
    ) -> usize {
        let mut entries = 0;
        for at in (from..to).rev() {
            let child = node.get().link(at).load();
            entries += child.map_or(0, |child| self.give_up_below(child));
        }
        entries
    }

    fn give_up_below(&mut self, node: Node<'a, C::Geometry>) -> usize {
        let inner = match node {
            Node::Leaf(leaf) => return self.give_up_leaf(leaf, true),
            Node::Inner(inner) => inner,
        };
        let entries = self.give_up_children(inner, 0, inner.len());
        self.pool.give_up(node);
        entries
    }
}
