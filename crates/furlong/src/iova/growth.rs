//! Memory for more nodes that was obtained elsewhere.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::{Config, SpaceNode, VecSpace};

impl<C: Config> VecSpace<C> {
    /// How many reservations more need no memory.
    ///
    /// # Cost
    /// O(1).
    pub fn room(&self) -> usize {
        self.spare + (self.tree.capacity() - self.tree.nodes().len())
    }

    /// How many extents there is memory for, reserved ones included.
    ///
    /// # Cost
    /// O(1).
    pub fn capacity(&self) -> usize {
        self.tree.capacity()
    }

    /// Moves the nodes into `memory` and returns the memory where they were. A space under a lock
    /// grows this way: memory is obtained before the lock is taken and freed after it. Grants stay
    /// good. Memory that is no larger than what there is comes back, and nothing has changed.
    ///
    /// # Cost
    /// O(nodes), a plain copy of 64 bytes a node; it neither allocates nor frees.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::VecSpace;
    ///
    /// let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
    /// let mut space = VecSpace::new(all, 4096, Vec::new())?;
    /// let mut memory = Vec::new();
    /// memory.try_reserve_exact(100)?; // here, where it may fail
    /// let old = space.grow_into(memory); // under the lock
    /// drop(old); // and here again outside
    /// assert!(space.room() >= 100);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use = "memory is freed where this is dropped, which should not be under a lock"]
    pub fn grow_into(&mut self, memory: Vec<SpaceNode<C>>) -> Vec<SpaceNode<C>> {
        self.tree.grow_into(memory)
    }
}

#[cfg(test)]
mod tests {
    use crate::addr::{Extent, Iova};
    use crate::check::Check;
    use crate::iova::{Lowest, Request, VecSpace};

    #[test]
    fn grants_outlive_the_memory_of_their_nodes() {
        let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
        let mut space = VecSpace::new(all, 4096, Vec::with_capacity(4)).unwrap();
        let page = Request::new(4096);
        let grants: Vec<_> = (0..4)
            .map(|_| space.reserve(&page, Lowest).unwrap())
            .collect();
        assert_eq!(space.room(), 0);
        let old = space.grow_into(Vec::with_capacity(9));
        assert_eq!((old.len(), old.capacity()), (0, 4));
        assert_eq!((space.room(), space.capacity()), (5, 9));
        space.check().unwrap();
        for grant in grants {
            space.release(grant).unwrap();
        }
        assert_eq!(space.room(), 9);
    }

    #[test]
    fn memory_that_is_no_larger_comes_back() {
        let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
        let mut space = VecSpace::new(all, 4096, Vec::with_capacity(4)).unwrap();
        let grant = space.reserve(&Request::new(1), Lowest).unwrap();
        let back = space.grow_into(Vec::with_capacity(4));
        assert_eq!((back.len(), back.capacity(), space.capacity()), (0, 4, 4));
        assert!(space.holds(&grant));
    }
}
