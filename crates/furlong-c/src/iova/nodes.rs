//! The nodes of a space: on the heap, or in memory that the caller supplied.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

use furlong::iova::{Gaps, Reserved, Standard};
use furlong::rbtree::{NoMemory, Store};

use crate::handle::{self, Given};

/// A node of a space.
pub(crate) type SpaceNode = furlong::iova::SpaceNode<Standard>;

/// The nodes of a space.
pub(crate) struct Nodes(Kept);

enum Kept {
    Heap(Vec<SpaceNode>),
    Given(&'static mut [SpaceNode]),
}

impl Nodes {
    /// An empty store that allocates on the heap.
    pub(crate) fn on_heap() -> Self {
        Self(Kept::Heap(Vec::new()))
    }

    /// A store with as many places as `memory` has room for.
    pub(crate) fn in_memory(memory: Given) -> Self {
        let skipped = align_of::<SpaceNode>() - 1;
        let len = memory.len().saturating_sub(skipped) / size_of::<SpaceNode>();
        let places = handle::array::<SpaceNode>(memory, len);
        let nodes = places.map(|(places, _)| filled(places));
        Self(Kept::Given(nodes.unwrap_or_default()))
    }
}

/// Initialises all places with nodes that are in no tree.
fn filled(places: &'static mut [MaybeUninit<SpaceNode>]) -> &'static mut [SpaceNode] {
    let free = SpaceNode::new(Reserved { start: 0, last: 0 });
    handle::filled(places, free)
}

impl Deref for Nodes {
    type Target = [SpaceNode];

    fn deref(&self) -> &[SpaceNode] {
        match &self.0 {
            Kept::Heap(nodes) => nodes,
            Kept::Given(nodes) => nodes,
        }
    }
}

impl DerefMut for Nodes {
    fn deref_mut(&mut self) -> &mut [SpaceNode] {
        match &mut self.0 {
            Kept::Heap(nodes) => nodes,
            Kept::Given(nodes) => nodes,
        }
    }
}

impl Store<Gaps> for Nodes {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        match &mut self.0 {
            Kept::Heap(nodes) => Store::try_reserve(nodes, more),
            Kept::Given(nodes) => Store::try_reserve(nodes, more),
        }
    }

    fn push(&mut self, node: SpaceNode) -> Result<(), NoMemory> {
        match &mut self.0 {
            Kept::Heap(nodes) => Store::push(nodes, node),
            Kept::Given(nodes) => Store::push(nodes, node),
        }
    }
}
