//! The structures: the library's tree in any configuration, and the standard library's map.

use std::any::Any;
use std::collections::BTreeMap;

use furlong::check::Check;
use furlong::iova::{GapHalf, Gaps, Largest, Measure, Need};
use furlong::rbtree::{Config, NodeId, RbTree, Tally, VecArena};
use furlong_spec::tree::{page, pages};

use furlong_lab::model::Failure;

/// An ordered structure over the nodes `0..n`: one page each, one page apart, in ascending order.
pub trait Ordered {
    /// Makes a structure over `nodes` nodes, none of which is linked.
    fn new(nodes: usize) -> Self;
    /// Links a node that is not linked.
    fn insert(&mut self, node: u32);
    /// Unlinks a node that is linked.
    fn remove(&mut self, node: u32);
    /// Unlinks all nodes.
    fn clear(&mut self);
    /// Copies the structure.
    fn copy(&self) -> Self;
    /// Makes this a copy of `other`.
    fn copy_from(&mut self, other: &Self);
    /// Checks every invariant, then returns the linked nodes in order.
    ///
    /// # Errors
    /// The broken invariant.
    fn nodes(&self) -> Result<Vec<u32>, Failure>;
    /// The work so far; zeros if not counted.
    fn work(&self) -> Work {
        Work::default()
    }
}

/// A structure that finds a node by its key, as a map must.
pub trait Keyed: Ordered {
    /// Unlinks the node with this one's page.
    fn remove_by_key(&mut self, node: u32);
}

/// Returns the node of an extent.
///
/// # Errors
/// The extent is not a node's.
pub fn node_of(start: u64, last: u64) -> Result<u32, Failure> {
    let node = u32::try_from(start / page(0).start / 2).ok();
    let right = node.filter(|node| page(*node).start == start && page(*node).last == last);
    right.ok_or_else(|| Failure("there is an extent that was never put in".to_owned()))
}

/// Event counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Recomputations of a node.
    pub augmentations: u64,
    /// Single rotations.
    pub rotations: u64,
}

impl Work {
    /// The difference from `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            augmentations: self.augmentations - before.augmentations,
            rotations: self.rotations - before.rotations,
        }
    }
}

/// The library's tree, with the first and last address of a subtree and a measure of its gaps;
/// removal is by node.
#[derive(Debug)]
pub struct Tree<C: Config, M: Measure = Longest>(RbTree<VecArena<Gaps<M>>, C>);

/// The library's tree with the summary of its own device addresses: the largest aligned block, too.
pub type BlockTree<C> = Tree<C, Largest>;

/// The longest gap, the only measure of FreeBSD's `iommu_gas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest(u64);

impl Measure for Longest {
    type Halves = [GapHalf<Self>; 2];

    const NONE: Self = Self(0);
    const UNLINKED: Self::Halves = [GapHalf::UNLINKED; 2];

    #[inline(always)]
    fn of(_start: u64, len: u64) -> Self {
        Self(len)
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    #[inline(always)]
    fn meets(self, need: &Need) -> bool {
        self.0 >= need.span
    }

    #[inline(always)]
    fn longest(self) -> u64 {
        self.0
    }
}

/// A structure in which removal is by key.
#[derive(Debug)]
pub struct ByKey<T>(T);

/// The standard library's map, from a page's last address to its start.
#[derive(Debug)]
pub struct Map(BTreeMap<u64, u64>);

#[inline(always)]
fn id(node: u32) -> NodeId {
    NodeId::from_index(node as usize).expect("a workload has fewer nodes than names")
}

impl<C: Config<Counters: Clone + 'static>, M: Measure> Ordered for Tree<C, M> {
    fn new(nodes: usize) -> Self {
        Self(RbTree::with_config(pages(nodes).collect()))
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        self.0.insert(id(node)).expect("the node is not linked");
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        self.0.remove(id(node)).expect("the node is linked");
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        self.0.check().map_err(Failure::of)?;
        Ok(self.0.iter().map(|id| id.index() as u32).collect())
    }

    fn work(&self) -> Work {
        let tally = (self.0.counters() as &dyn Any).downcast_ref::<Tally>();
        tally.map_or(Work::default(), |tally| Work {
            augmentations: tally.augmentations(),
            rotations: tally.rotations(),
        })
    }
}

impl<C: Config<Counters: Clone + 'static>, M: Measure> Keyed for Tree<C, M> {
    #[inline(always)]
    fn remove_by_key(&mut self, node: u32) {
        let found = self.0.find(page(node).last).expect("the key is there");
        self.0.remove(found).expect("the node is linked");
    }
}

impl<T: Keyed> Ordered for ByKey<T> {
    fn new(nodes: usize) -> Self {
        Self(T::new(nodes))
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        self.0.insert(node);
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        self.0.remove_by_key(node);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn copy(&self) -> Self {
        Self(self.0.copy())
    }

    fn copy_from(&mut self, other: &Self) {
        self.0.copy_from(&other.0);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        self.0.nodes()
    }

    fn work(&self) -> Work {
        self.0.work()
    }
}

impl Ordered for Map {
    fn new(_nodes: usize) -> Self {
        Self(BTreeMap::new())
    }

    #[inline(always)]
    fn insert(&mut self, node: u32) {
        let page = page(node);
        self.0.insert(page.last, page.start);
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        self.0.remove(&page(node).last).expect("the key is there");
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    fn nodes(&self) -> Result<Vec<u32>, Failure> {
        let all = self.0.iter();
        all.map(|(last, start)| node_of(*start, *last)).collect()
    }
}
