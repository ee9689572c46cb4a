//! Linux's red-black tree as an ordered structure.
#![forbid(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;

use furlong_experiments::ordered::{Keyed, Ordered};
use furlong_lab::model::Failure;
use furlong_spec::tree::page;

use super::library::{Library, RawNodes, library};

/// The data that a node keeps about its subtree.
pub(super) trait Knowledge {
    /// True if it keeps the first and last address and the largest gap.
    const HAS_SUMMARIES: bool;
}

/// The same as our tree's nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summed;

/// No data, as in a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare;

impl Knowledge for Summed {
    const HAS_SUMMARIES: bool = true;
}

impl Knowledge for Bare {
    const HAS_SUMMARIES: bool = false;
}

/// A red-black tree over preallocated nodes.
pub(super) struct Nodes<K> {
    linux: &'static Library,
    raw: &'static RawNodes,
    count: usize,
    knowledge: PhantomData<K>,
}

impl<K> fmt::Debug for Nodes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<K> Drop for Nodes<K> {
    fn drop(&mut self) {
        (self.linux.rbtree.drop)(self.raw);
    }
}

impl<K: Knowledge> Ordered for Nodes<K> {
    fn new(nodes: usize) -> Self {
        let linux = library().expect("the library is there");
        let raw = (linux.rbtree.new)(nodes, K::HAS_SUMMARIES).expect("there is memory");
        for node in 0..nodes {
            let at = page(node as u32);
            (linux.rbtree.place)(raw, node, at.start, at.last);
        }
        Self {
            linux,
            raw,
            count: nodes,
            knowledge: PhantomData,
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

impl<K: Knowledge> Keyed for Nodes<K> {
    #[inline(always)]
    fn remove_by_key(&mut self, node: u32) {
        let found = (self.linux.rbtree.find)(self.raw, page(node).last);
        assert!(found < self.count, "the key is there");
        (self.linux.rbtree.remove)(self.raw, found);
    }
}
