//! Growth with memory obtained elsewhere: an array to move the nodes into, or chunks to add.

use alloc::vec::Vec;

use crate::iova::{ChunkSpace, Config, Gaps, Space, SpaceNode, Storage, VecSpace};
use crate::rbtree::{ChunkTable, Growth};

impl<C: Config> VecSpace<C> {
    /// Number of further reservations that need no memory.
    ///
    /// # Cost
    /// O(1).
    pub fn room(&self) -> usize {
        self.spare.count + (self.tree.capacity() - self.tree.nodes().len())
    }

    /// Number of extents that fit in the memory, reserved ones included.
    ///
    /// # Cost
    /// O(1).
    pub fn capacity(&self) -> usize {
        self.tree.capacity()
    }

    /// Moves the nodes into `memory` and returns the old memory. A space under a lock grows this
    /// way: memory is obtained before the lock is taken and freed after it is released. Grants stay
    /// valid. If `memory` is not larger than the current array, it is returned and nothing changes.
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
    #[must_use = "dropping this frees memory; do not drop it under a lock"]
    pub fn grow_into(&mut self, memory: Vec<SpaceNode<C>>) -> Vec<SpaceNode<C>> {
        self.tree.grow_into(memory)
    }
}

impl<C: Config> ChunkSpace<C> {
    /// Number of further reservations that need no memory.
    ///
    /// # Cost
    /// O(1).
    pub fn room(&self) -> usize {
        self.spare.count + (self.capacity() - self.tree.nodes().len())
    }

    /// Number of extents that fit in the memory, reserved ones included.
    ///
    /// # Cost
    /// O(1).
    pub fn capacity(&self) -> usize {
        self.tree.chunks().capacity()
    }

    /// The table of the nodes' chunks, which tells how much memory growth takes: see
    /// [`ChunkTable::growth`].
    pub fn table(&self) -> ChunkTable {
        self.tree.chunks().table()
    }

    /// Adds memory that was obtained elsewhere and returns the unused rest. A space under a lock
    /// grows this way: memory is obtained before the lock is taken and freed after it is released.
    ///
    /// # Cost
    /// Same as [`Chunks::grow_with`](crate::rbtree::Chunks::grow_with): no node is copied.
    pub fn grow_with(&mut self, growth: Growth<Gaps<C::Measure>>) -> Growth<Gaps<C::Measure>> {
        self.tree.grow_with(growth)
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Converts the space to one with its nodes in chunks. Grants stay valid.
    ///
    /// # Errors
    /// Returns the space if out of memory; nothing has changed.
    ///
    /// # Cost
    /// O(nodes).
    pub fn into_chunks(mut self) -> Result<ChunkSpace<C>, Self> {
        match self.tree.into_chunks() {
            Ok(tree) => Ok(Space {
                tree,
                bounds: self.bounds,
                ends: self.ends,
                shift: self.shift,
                spare: self.spare,
                tag: self.tag,
                is_interrupted: self.is_interrupted,
                rest: self.rest,
            }),
            Err(tree) => {
                self.tree = tree;
                Err(self)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::addr::{Extent, Iova};
    use crate::check::Check;
    use crate::iova::{Domain, Highest, Lowest, NoTlb, OneCpu, Request, SpaceNode, VecSpace};
    use crate::rbtree::{CHUNK_NODES, Slots};

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

    /// Reservations in one domain, of which about every 256th grows it.
    #[test]
    fn a_domain_that_grows_moves_no_node() {
        let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
        let space = VecSpace::new(all, 4096, Vec::new()).unwrap();
        let domain = Domain::new(space, NoTlb, OneCpu, 1).unwrap();
        let mut places: Vec<*const SpaceNode> = Vec::new();
        let (mut moved, mut grown) = (0, 0);
        for count in 1..=300_000 {
            let grant = domain.reserve(&Request::new(4096), Highest).unwrap();
            domain.with_space(|space| {
                let chunks = space.tree.chunks();
                if space.capacity() == places.len() * CHUNK_NODES {
                    return;
                }
                let place = |chunk: usize| core::ptr::from_ref(chunks.node(chunk * CHUNK_NODES));
                let had = places.iter().enumerate();
                moved += had.filter(|(chunk, had)| place(*chunk) != **had).count();
                assert_eq!(
                    space.capacity(),
                    (places.len() + 1) * CHUNK_NODES,
                    "at {count}"
                );
                places.push(place(grant.index() / CHUNK_NODES));
                grown += 1;
            });
        }
        assert_eq!((moved, grown), (0, 300_000_usize.div_ceil(CHUNK_NODES)));
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
