//! The highest tree that so many nodes can make, and how it comes about.
#![forbid(unsafe_code)]

/// A perfect tree of which most is removed, leaf by leaf and without a rotation. On both sides of
/// the root a path goes down towards the middle, on which each rank is one less than the one above;
/// beside the path each subtree is two ranks below, and so are the children of all its nodes.
pub(super) struct Pruned {
    /// Rank by number of the node, -1 where none is any more: 1 is the root, `2 i` and `2 i + 1`
    /// are the children of `i`; they are inserted in this order.
    ranks: Vec<i32>,
    /// Nodes in the order in which they go.
    pub(super) released: Vec<usize>,
}

impl Pruned {
    pub(super) fn new(rank: u32) -> Self {
        let nodes = 1_usize << (rank + 1);
        let of = |node: usize| (rank - node.max(1).ilog2()) as i32;
        let mut pruned = Self {
            ranks: (0..nodes).map(of).collect(),
            released: Vec::new(),
        };
        pruned.path(2, 1);
        pruned.path(3, 0);
        pruned
    }

    /// All nodes of the perfect tree, in the order in which they are inserted.
    pub(super) fn nodes(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        1..self.ranks.len()
    }

    /// How many nodes come before this one in order.
    pub(super) fn position(&self, node: usize) -> usize {
        let below = self.ranks.len().ilog2() - 1 - node.ilog2();
        let in_level = node - (1 << node.ilog2());
        (2 * in_level + 1) * (1 << below) - 1
    }

    /// Goes down on one side, and prunes the subtrees on the other.
    fn path(&mut self, mut node: usize, side: usize) {
        while self.ranks[node] > 0 {
            let beside = 2 * node + (1 - side);
            self.lower_to(beside, self.ranks[node] - 2);
            self.prune(beside);
            node = 2 * node + side;
        }
    }

    /// Puts both children two ranks below, as far down as there are nodes.
    fn prune(&mut self, node: usize) {
        let rank = self.ranks[node];
        // A node of rank 1 without children would lose a rank itself.
        let children = if rank == 1 { 1 } else { 2 };
        if rank > 0 {
            for child in (2 * node..).take(children) {
                self.lower_to(child, rank - 2);
                self.prune(child);
            }
        }
    }

    fn lower_to(&mut self, node: usize, rank: i32) {
        while self.ranks[node] > rank {
            self.lower(node);
        }
    }

    /// Takes out leaves below `node`, at last perhaps itself, until it has one rank less.
    fn lower(&mut self, node: usize) {
        let rank = self.ranks[node];
        if rank == 0 {
            self.released.push(node);
        } else {
            // A child that is three ranks below beside one that is two below.
            self.lower_to(2 * node + 1, rank - 2);
            self.lower_to(2 * node, (rank - 3).max(-1));
        }
        self.ranks[node] = rank - 1;
    }
}
