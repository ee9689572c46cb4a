//! The highest tree for its number of nodes, made by deletions.

/// A perfect tree of which most nodes are removed, leaf by leaf and without a rotation. From each
/// child of the root a path leads towards the middle; ranks on it decrease by one. The subtrees
/// beside a path lie two ranks lower than their parents, and so do all nodes in them.
pub(super) struct Pruned {
    /// Rank of each node by number, -1 if it is removed. Node 1 is the root; `2 i` and `2 i + 1`
    /// are the children of `i`. Nodes are inserted in this order.
    ranks: Vec<i32>,
    /// Nodes in the order of their removal.
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

    /// All nodes of the perfect tree, in the order of their insertion.
    pub(super) fn nodes(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        1..self.ranks.len()
    }

    /// The number of nodes that come before this one in key order.
    pub(super) fn position(&self, node: usize) -> usize {
        let below = self.ranks.len().ilog2() - 1 - node.ilog2();
        let in_level = node - (1 << node.ilog2());
        (2 * in_level + 1) * (1 << below) - 1
    }

    /// Descends on one side, and prunes the subtrees on the other side.
    fn path(&mut self, mut node: usize, side: usize) {
        while self.ranks[node] > 0 {
            let beside = 2 * node + (1 - side);
            self.lower_to(beside, self.ranks[node] - 2);
            self.prune(beside);
            node = 2 * node + side;
        }
    }

    /// Lowers both children to two ranks below their parent, recursively.
    fn prune(&mut self, node: usize) {
        let rank = self.ranks[node];
        // A node of rank 1 that loses both children would itself lose a rank.
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

    /// Removes leaves below `node`, and in the end `node` itself if it is one, until it has lost a
    /// rank.
    fn lower(&mut self, node: usize) {
        let rank = self.ranks[node];
        if rank == 0 {
            self.released.push(node);
        } else {
            // One child three ranks below next to one two ranks below makes the node lose a rank.
            self.lower_to(2 * node + 1, rank - 2);
            self.lower_to(2 * node, (rank - 3).max(-1));
        }
        self.ranks[node] = rank - 1;
    }
}
