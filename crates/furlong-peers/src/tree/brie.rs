//! brie-tree: a B+ tree of integer keys.

use brie_tree::BTree;
use brie_tree::nonmax::NonMaxU64;
use furlong_experiments_devices::ordered::{Ordered, node_of};
use furlong_lab::model::Failure;
use furlong_spec::tree::page;

/// A map from a page's last address to its start.
#[derive(Clone)]
pub struct Brie(BTree<NonMaxU64, u64>);

#[inline(always)]
fn key(last: u64) -> NonMaxU64 {
    NonMaxU64::new(last).expect("no page ends with 64 bits")
}

impl Ordered for Brie {
    fn new(_nodes: usize) -> Self {
        Self(BTree::new())
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        let page = page(node);
        self.0.insert(key(page.last), page.start);
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        let removed = self.0.remove(key(page(node).last));
        removed.expect("the key is there");
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn copy(&self) -> Self {
        self.clone()
    }

    fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        let all = self.0.iter();
        all.map(|(last, start)| node_of(*start, last.get()))
            .collect()
    }
}
