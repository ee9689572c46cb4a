//! `check()`: verifies every invariant of a map and returns the broken one.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::{Entries, Map};
use crate::check::Check;
use crate::rbtree::{self, NodeId, Store};

/// A broken invariant of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenMap {
    /// This entry ends before it begins, or overlaps the one before.
    Overlap(NodeId),
    /// The tree is broken.
    Tree(rbtree::Broken<NodeId>),
    /// This entry has no value, or has one and is not in the map.
    Value(NodeId),
    /// The free list does not hold exactly the unlinked nodes: it holds this many of them before it
    /// ends or goes wrong.
    Free(usize),
}

impl fmt::Display for BrokenMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(at) => write!(f, "{at:?} is reversed or overlaps the one before"),
            Self::Tree(broken) => write!(f, "the tree: {broken}"),
            Self::Value(at) => write!(f, "{at:?} has no value or an unexpected one"),
            Self::Free(listed) => write!(
                f,
                "the list of free nodes has {listed} nodes, which is wrong"
            ),
        }
    }
}

impl Error for BrokenMap {}

impl<V, S: Store<Entries<V>>, C: rbtree::Config> Check for Map<V, S, C> {
    type Broken = BrokenMap;

    /// O(n) time, and stack as deep as the tree. If user code has panicked in a change, the state
    /// that [`Map::recover`] repairs is skipped.
    fn check(&self) -> Result<(), BrokenMap> {
        self.tree.check().map_err(BrokenMap::Tree)?;
        let mut next = Some(0);
        for at in &self.tree {
            let entry = self.tree.item(at);
            if next.is_none_or(|next| entry.start < next) || entry.last < entry.start {
                return Err(BrokenMap::Overlap(at));
            }
            next = entry.last.checked_add(1);
        }
        if self.is_interrupted {
            return Ok(());
        }
        let is_wrong =
            |at: &NodeId| self.tree.is_linked(*at) != self.tree.item(*at).value.is_some();
        match self.tree.nodes().ids().find(is_wrong) {
            Some(at) => Err(BrokenMap::Value(at)),
            None => {
                let checked = self.spare.check(&self.tree);
                checked.map_err(|flaw| BrokenMap::Free(flaw.listed))
            }
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::vec::Vec;

    use super::BrokenMap;
    use crate::addr::{Extent, Iova};
    use crate::check::Check;
    use crate::iova::{Entry, Map, VecMap};
    use crate::rbtree::NodeId;

    fn id(index: usize) -> NodeId {
        NodeId::from_index(index).unwrap()
    }

    /// Result of `check` on a map with nodes 0 and 2 linked and node 1 free, after `harm`.
    fn broken(harm: impl FnOnce(&mut VecMap<u32>)) -> BrokenMap {
        let extent = |start| Extent::from_len(Iova::new(start), 10).unwrap();
        let mut map: VecMap<u32> = Map::new(Vec::new());
        for (value, start) in [100, 200, 300].into_iter().enumerate() {
            map.insert(extent(start), value as u32).unwrap();
        }
        map.remove(extent(200)).unwrap();
        assert_eq!(map.check(), Ok(()));
        harm(&mut map);
        map.check().expect_err("the map is broken")
    }

    #[test]
    fn check_names_each_invariant_of_a_map_that_is_broken() {
        let overlap = broken(|map| map.tree.update(id(2), |entry| entry.start = 109));
        assert_eq!(overlap, BrokenMap::Overlap(id(2)));
        let reversed = broken(|map| map.tree.update(id(0), |entry| entry.start = 110));
        assert_eq!(reversed, BrokenMap::Overlap(id(0)));
        let bare = broken(|map| map.tree.update(id(2), |entry| entry.value = None));
        assert_eq!(bare, BrokenMap::Value(id(2)));
        let kept = broken(|map| map.tree.update(id(1), |entry| entry.value = Some(1)));
        assert_eq!(kept, BrokenMap::Value(id(1)));
        assert_eq!(broken(|map| map.spare.count = 0), BrokenMap::Free(0));
        assert_eq!(broken(|map| map.spare.count = 2), BrokenMap::Free(1));
        assert_eq!(broken(|map| map.spare.next = 0), BrokenMap::Free(0));
        assert_eq!(broken(|map| map.spare.next = 9), BrokenMap::Free(0));
        let order = broken(|map| {
            map.tree.remove(id(0)).unwrap();
            let behind = Entry {
                start: 400,
                last: 401,
                value: Some(7),
            };
            map.tree.replace(id(0), behind).unwrap();
            map.tree.insert_before(Some(id(2)), id(0)).unwrap();
        });
        assert!(matches!(order, BrokenMap::Tree(_)), "{order}");
    }
}
