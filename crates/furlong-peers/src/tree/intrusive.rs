//! intrusive-collections: a red-black tree through the user's structs, in use in kernels and
//! library operating systems for years. It keeps nothing about subtrees.
#![expect(
    unsafe_code,
    reason = "an intrusive tree names structs by their address"
)]

use std::ptr;

use furlong_experiments_devices::ordered::{Keyed, Ordered, node_of};
use furlong_lab::model::Failure;
use furlong_spec::Random;
use furlong_spec::tree::{page, pages};
use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink, UnsafeRef, intrusive_adapter};

/// An extent that is linked into the tree.
struct Node {
    link: RBTreeLink,
    start: u64,
    last: u64,
}

intrusive_adapter!(ByLast = UnsafeRef<Node>: Node { link => RBTreeLink });

impl<'a> KeyAdapter<'a> for ByLast {
    type Key = u64;

    #[inline(always)]
    fn get_key(&self, node: &'a Node) -> u64 {
        node.last
    }
}

/// Removes by node, without a search.
pub struct ByNode {
    // Before the nodes, so that it is dropped first.
    tree: RBTree<ByLast>,
    /// In ascending order. A vector, because moving it does not move the nodes that the tree points
    /// to.
    nodes: Vec<Node>,
}

impl ByNode {
    fn is_linked(&self, node: u32) -> bool {
        self.nodes[node as usize].link.is_linked()
    }
}

impl Ordered for ByNode {
    fn new(nodes: usize) -> Self {
        let node = |page: furlong::iova::Reserved| Node {
            link: RBTreeLink::new(),
            start: page.start,
            last: page.last,
        };
        Self {
            tree: RBTree::new(ByLast::new()),
            nodes: pages(nodes).map(node).collect(),
        }
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        // SAFETY: nodes are only shared, never move, and outlive the tree.
        let node = unsafe { UnsafeRef::from_raw(&raw const self.nodes[node as usize]) };
        self.tree.insert(node);
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        assert!(self.is_linked(node), "the node is linked");
        let node = ptr::from_ref(&self.nodes[node as usize]);
        // SAFETY: it is linked, as just checked, and there is no other tree that it could be in.
        let mut cursor = unsafe { self.tree.cursor_mut_from_ptr(node) };
        cursor.remove();
    }

    fn clear(&mut self) {
        self.tree.clear();
    }

    fn copy(&self) -> Self {
        let mut copy = Self::new(self.nodes.len());
        copy.copy_from(self);
        copy
    }

    /// Rebuilds the tree, since a tree through structs cannot be copied. The order is random, so
    /// that the tree has its original kind of shape.
    fn copy_from(&mut self, other: &Self) {
        self.tree.clear();
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        Random::new(0).shuffle(&mut order);
        order.retain(|node| other.is_linked(*node));
        for node in order {
            self.insert(node);
        }
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        let all = self.tree.iter();
        all.map(|node| node_of(node.start, node.last)).collect()
    }
}

impl Keyed for ByNode {
    #[inline(always)]
    fn remove_by_key(&mut self, node: u32) {
        let mut cursor = self.tree.find_mut(&page(node).last);
        cursor.remove().expect("the key is there");
    }
}
