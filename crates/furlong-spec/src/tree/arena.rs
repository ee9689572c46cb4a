//! The nodes of an arena.
#![forbid(unsafe_code)]

use furlong::iova::{Gaps, Reserved};
use furlong::rbtree::{Config, NodeId, RbTree, VecArena};

use super::subject::{Storage, TreeSubject};

/// The library's tree over an arena.
pub type ArenaTree<C> = TreeSubject<Arena, C>;

/// An arena, whose nodes are named by their number.
#[derive(Clone, Copy, Debug)]
pub struct Arena;

impl Storage for Arena {
    type Nodes = VecArena<Gaps>;

    fn of(extents: &[Reserved]) -> (VecArena<Gaps>, Self) {
        (extents.iter().chain(extents).copied().collect(), Self)
    }

    fn name(&self, number: usize) -> NodeId {
        NodeId::from_index(number).expect("an arena has fewer nodes than names")
    }

    fn number(_: &RbTree<VecArena<Gaps>, impl Config>, name: NodeId) -> usize {
        name.index()
    }

    fn set_start(&self, tree: &mut RbTree<VecArena<Gaps>, impl Config>, number: usize, to: u64) {
        tree.update(self.name(number), |item| item.start = to);
    }
}
