//! Linux's red-black tree as an ordered structure.

use furlong_experiments_devices::ordered::{Keyed, Ordered};
use furlong_lab::model::Failure;
use furlong_spec::tree::page;

use super::library::{Library, RawNodes, library};

/// A red-black tree over preallocated nodes. With summaries a node keeps the first and last address
/// of its subtree and the largest gap, like our tree's nodes; without them no data, as in a map.
pub(super) struct Nodes<const HAS_SUMMARIES: bool> {
    linux: &'static Library,
    raw: &'static RawNodes,
    count: usize,
}

impl<const HAS_SUMMARIES: bool> Drop for Nodes<HAS_SUMMARIES> {
    fn drop(&mut self) {
        (self.linux.rbtree.drop)(self.raw);
    }
}

impl<const HAS_SUMMARIES: bool> Ordered for Nodes<HAS_SUMMARIES> {
    fn new(nodes: usize) -> Self {
        let linux = library().expect("the library is there");
        let raw = (linux.rbtree.new)(nodes, HAS_SUMMARIES).expect("there is memory");
        for node in 0..nodes {
            let at = page(node as u32);
            (linux.rbtree.place)(raw, node, at.start, at.last);
        }
        Self {
            linux,
            raw,
            count: nodes,
        }
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        (self.linux.rbtree.insert)(self.raw, node as usize);
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        (self.linux.rbtree.remove)(self.raw, node as usize);
    }

    fn clear(&mut self) {
        (self.linux.rbtree.clear)(self.raw);
    }

    fn copy(&self) -> Self {
        let mut copy = Self::new(self.count);
        copy.copy_from(self);
        copy
    }

    fn copy_from(&mut self, other: &Self) {
        assert_eq!(self.count, other.count, "both have the same nodes");
        (self.linux.rbtree.copy)(self.raw, other.raw);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        let listed = self.linux.rbtree.list(self.raw, self.count);
        listed.ok_or_else(|| Failure("an order or a summary is wrong".to_owned()))
    }
}

impl<const HAS_SUMMARIES: bool> Keyed for Nodes<HAS_SUMMARIES> {
    #[inline(always)]
    fn remove_by_key(&mut self, node: u32) {
        let found = (self.linux.rbtree.find)(self.raw, page(node).last);
        assert!(found < self.count, "the key is there");
        (self.linux.rbtree.remove)(self.raw, found);
    }
}
