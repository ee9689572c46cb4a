//! Nodes in chunks: an array that grows and never moves a node.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::DerefMut;

use super::store::Sealed;
use crate::error::reserved;
use crate::forms::{debug_as, default_is_new};
use crate::rbtree::{Arena, Augment, Config, NoMemory, Node, NodeId, RbTree, Slots, Store};

/// Nodes of a chunk, which is one allocation: 16 KiB if a node has 64 bytes.
///
/// A chunk is small because every growth fills one. The table of all chunks is small beside them,
/// with a word for each.
pub const CHUNK_NODES: usize = 256;

/// Maximum number of chunks of an arena.
const CHUNKS_MAX: usize = NodeId::COUNT_MAX / CHUNK_NODES;

type Chunk<A> = Box<[Node<A>; CHUNK_NODES]>;

/// A default item, for unused nodes.
pub trait Blank: Copy {
    /// The default item.
    const BLANK: Self;
}

/// Nodes in chunks of [`CHUNK_NODES`], which never move: growth obtains a chunk and copies no node.
///
/// # Cost
/// Access to a node by its index takes one load more than in a `Vec`: a pointer from the table of
/// chunks. The table doubles when it is full, and has 64 KiB for two million nodes.
#[derive(Debug)]
pub struct Chunks<A: Augment, T = Vec<Chunk<A>>> {
    table: T,
    /// Number of nodes in use; the nodes after them are blank.
    len: usize,
    nodes: PhantomData<A>,
}

/// Memory for more nodes of [`Chunks`], obtained before a lock is taken. It also carries the unused
/// rest afterwards, to be freed without the lock.
#[must_use = "dropping this frees memory; do not drop it under a lock"]
pub struct Growth<A: Augment> {
    fresh: Vec<Chunk<A>>,
    /// A table with room for the old and the fresh chunks; empty if the current table has room.
    table: Vec<Chunk<A>>,
}

debug_as! { Growth<A> where [A: Augment]: |it| Growth { chunks: it.fresh.len(), .. } }

/// Length and capacity of the table of chunks: the input of [`growth`](Self::growth).
#[derive(Clone, Copy, Debug)]
pub struct ChunkTable {
    len: usize,
    capacity: usize,
}

impl ChunkTable {
    /// Obtains memory for `nodes` more nodes.
    ///
    /// # Errors
    /// [`NoMemory`]: memory already obtained has been freed.
    ///
    /// # Cost
    /// It obtains and fills a chunk for each [`CHUNK_NODES`] nodes, and a new table if the current
    /// one has no room.
    pub fn growth<A>(self, nodes: usize) -> Result<Growth<A>, NoMemory>
    where
        A: Augment<Item: Blank>,
    {
        let more = nodes.div_ceil(CHUNK_NODES);
        let wanted = self.len.checked_add(more);
        let wanted = wanted.filter(|wanted| *wanted <= CHUNKS_MAX);
        let wanted = wanted.ok_or(NoMemory)?;
        let table = if wanted > self.capacity {
            reserved(wanted.max(2 * self.capacity))?
        } else {
            Vec::new()
        };
        let mut fresh = reserved(more)?;
        for _ in 0..more {
            fresh.push(chunk()?);
        }
        Ok(Growth { fresh, table })
    }
}

/// A chunk of blank nodes.
fn chunk<A: Augment<Item: Blank>>() -> Result<Chunk<A>, NoMemory> {
    let mut nodes = reserved(CHUNK_NODES)?;
    nodes.resize_with(CHUNK_NODES, || Node::of(A::Item::BLANK));
    nodes.try_into().map_err(|_| NoMemory)
}

impl<A: Augment> Chunks<A> {
    /// No nodes, and no memory.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            table: Vec::new(),
            len: 0,
            nodes: PhantomData,
        }
    }

    /// Number of nodes that fit in the memory.
    pub fn capacity(&self) -> usize {
        self.table.len() * CHUNK_NODES
    }

    /// The size of the table of chunks.
    pub fn table(&self) -> ChunkTable {
        ChunkTable {
            len: self.table.len(),
            capacity: self.table.capacity(),
        }
    }

    /// Adds memory that was obtained elsewhere, as much as the table has room for, and returns the
    /// rest. With this a tree under a lock can grow while all allocation, filling and freeing stays
    /// outside.
    ///
    /// # Cost
    /// O(1) a chunk, and a copy of the table, a word a chunk, if it is replaced. No node is copied;
    /// it neither allocates nor frees.
    pub fn grow_with(&mut self, growth: Growth<A>) -> Growth<A> {
        let Growth {
            mut fresh,
            mut table,
        } = growth;
        if table.capacity() > self.table.capacity() {
            table.append(&mut self.table);
            core::mem::swap(&mut table, &mut self.table);
        }
        let room = self.table.capacity().min(CHUNKS_MAX) - self.table.len();
        let left = fresh.len().saturating_sub(room);
        self.table.extend(fresh.drain(left..));
        Growth { fresh, table }
    }

    /// Copies `nodes` under the same names.
    ///
    /// # Errors
    /// [`NoMemory`] if the chunks cannot be allocated.
    pub(crate) fn copied<S: Slots<A>>(nodes: &S) -> Result<Self, NoMemory>
    where
        A: Augment<Item: Blank> + Copy,
    {
        let mut chunks = Self::new();
        chunks.try_reserve(nodes.count())?;
        for index in 0..nodes.count() {
            chunks.push(*nodes.node(index))?;
        }
        Ok(chunks)
    }
}

default_is_new! { Chunks<A> where [A: Augment] }

impl<A: Augment, T: DerefMut<Target = [Chunk<A>]>> Sealed<A> for Chunks<A, T> {}

impl<A: Augment, T: DerefMut<Target = [Chunk<A>]>> Slots<A> for Chunks<A, T> {
    type View<'a>
        = Chunks<A, &'a mut [Chunk<A>]>
    where
        Self: 'a,
        A: 'a;

    #[inline(always)]
    fn view(&mut self) -> Self::View<'_> {
        Chunks {
            table: &mut self.table,
            len: self.len,
            nodes: PhantomData,
        }
    }

    #[inline(always)]
    fn count(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn node(&self, index: usize) -> &Node<A> {
        &self.table[index / CHUNK_NODES][index % CHUNK_NODES]
    }

    #[inline(always)]
    fn get(&self, index: usize) -> Option<&Node<A>> {
        if index >= self.len {
            return None;
        }
        self.table
            .get(index / CHUNK_NODES)?
            .get(index % CHUNK_NODES)
    }

    #[inline(always)]
    fn node_mut(&mut self, index: usize) -> &mut Node<A> {
        &mut self.table[index / CHUNK_NODES][index % CHUNK_NODES]
    }
}

impl<A: Augment<Item: Blank>> Store<A> for Chunks<A> {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        let missing = more.saturating_sub(self.capacity() - self.len);
        if missing > 0 {
            drop(self.grow_with(self.table().growth(missing)?));
        }
        Ok(())
    }

    fn push(&mut self, node: Node<A>) -> Result<(), NoMemory> {
        if self.len == self.capacity() {
            return Err(NoMemory);
        }
        let end = self.len;
        *self.node_mut(end) = node;
        self.len += 1;
        Ok(())
    }
}

impl<A: Augment<Item: Blank> + Copy, S: Slots<A>, C: Config> RbTree<Arena<A, S>, C> {
    /// The same tree over copies of its nodes in chunks, under the same names.
    ///
    /// # Errors
    /// The tree is returned if out of memory; nothing has changed.
    pub(crate) fn into_chunks(self) -> Result<RbTree<Arena<A, Chunks<A>>, C>, Self> {
        match Chunks::copied(self.nodes.store()) {
            Ok(chunks) => Ok(RbTree {
                nodes: Arena::linked(chunks),
                head: self.head,
                counters: self.counters,
            }),
            Err(NoMemory) => Err(self),
        }
    }
}

impl<A: Augment, C: Config> RbTree<Arena<A, Chunks<A>>, C> {
    /// The memory of the nodes.
    pub fn chunks(&self) -> &Chunks<A> {
        self.nodes.store()
    }

    /// Adds memory for more nodes; see [`Chunks::grow_with`].
    pub fn grow_with(&mut self, growth: Growth<A>) -> Growth<A> {
        self.nodes.store_mut().grow_with(growth)
    }
}

#[cfg(test)]
mod tests {
    use super::{Blank, CHUNK_NODES, Chunks};
    use crate::rbtree::tests::Count;
    use crate::rbtree::{Arena, NoMemory, Node, NodeId, Slots, Store};

    impl Blank for u64 {
        const BLANK: Self = Self::MAX;
    }

    #[test]
    fn nodes_stay_where_they_are_while_their_chunks_become_more() {
        let mut chunks = Chunks::<Count>::new();
        let mut places = Vec::new();
        for number in 0..5 * CHUNK_NODES {
            if number == chunks.capacity() {
                let growth = chunks.table().growth(1).unwrap();
                let left = chunks.grow_with(growth);
                assert!(left.fresh.is_empty() && left.table.is_empty());
            }
            chunks.push(Node::of(number as u64)).unwrap();
            places.push(core::ptr::from_ref(chunks.node(number)));
        }
        assert!(chunks.push(Node::of(0)).is_err());
        let found = (0..chunks.count()).map(|index| core::ptr::from_ref(chunks.node(index)));
        assert!(found.eq(places));
        let copies = Chunks::copied(&chunks).unwrap();
        assert!((0..copies.count()).all(|at| *copies.node(at).item() == at as u64));
    }

    #[test]
    fn memory_for_a_table_that_has_grown_meanwhile_comes_back() {
        let mut chunks = Chunks::<Count>::new();
        let early = [1, 2].map(|more| chunks.table().growth(more * CHUNK_NODES).unwrap());
        for (growth, left) in early.into_iter().zip([0, 1]) {
            assert_eq!(chunks.grow_with(growth).fresh.len(), left);
        }
        assert_eq!(chunks.capacity(), 2 * CHUNK_NODES);
    }

    #[test]
    fn more_nodes_than_have_names_are_refused_before_memory_is_touched() {
        let table = Chunks::<Count>::new().table();
        for nodes in [usize::MAX, 1 << 31] {
            assert!(matches!(table.growth::<Count>(nodes), Err(NoMemory)));
        }
    }

    #[test]
    fn room_that_is_there_is_not_made_again() {
        let mut chunks = Chunks::<Count>::new();
        chunks.try_reserve(1).unwrap();
        chunks.push(Node::of(0)).unwrap();
        chunks.try_reserve(CHUNK_NODES - 1).unwrap();
        assert_eq!(chunks.capacity(), CHUNK_NODES);
        chunks.try_reserve(CHUNK_NODES).unwrap();
        assert_eq!(chunks.capacity(), 2 * CHUNK_NODES);
    }

    /// Panic message of an arena that claims `len` nodes without having any.
    fn said_of(len: usize) -> String {
        let chunks = Chunks::<Count> {
            len,
            ..Chunks::new()
        };
        let refused = std::panic::catch_unwind(|| Arena::new(chunks).len());
        let said = refused.expect_err("it looks at the nodes");
        said.downcast_ref::<String>().map_or_else(
            || {
                said.downcast_ref::<&str>()
                    .map_or("", |said| said)
                    .to_owned()
            },
            Clone::clone,
        )
    }

    #[test]
    fn an_arena_has_no_more_nodes_than_there_are_names() {
        assert_eq!(said_of(NodeId::COUNT_MAX + 1), "an index has 31 bits");
        assert!(said_of(NodeId::COUNT_MAX).starts_with("index out of bounds"));
    }
}
