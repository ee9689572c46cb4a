//! Nodes outside of any tree: obtained beforehand, or given up.
#![expect(unsafe_code, reason = "nodes are obtained and given back")]

use core::{marker::PhantomData, mem::offset_of, ptr::NonNull};

use super::block::{Kind, dispose};
pub use crate::error::NoMemory;
use crate::maple::{Geometry, Inner, Leaf, Node, Ptr, Run, Source, Tree};
use crate::rcu::{Batch, RcuHead};

/// Numbers of nodes of both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    /// Leaves.
    pub leaves: usize,
    /// Inner nodes.
    pub inners: usize,
}

/// Nodes of one kind, linked through their heads and owned by the stack. If it is dropped or
/// forgotten with nodes in it, they leak.
pub(crate) struct Stack<T, S> {
    batch: Batch,
    kind: PhantomData<T>,
    source: PhantomData<S>,
}

// SAFETY: the offset of the field, and the place that the node was made with.
unsafe impl<G: Geometry> Kind for Leaf<G> {
    const HEAD: usize = offset_of!(Self, head);

    fn fresh(place: u8) -> Self {
        Self::new(place)
    }

    fn place(&self) -> u8 {
        self.place
    }
}

// SAFETY: the offset of the field, and the place that the node was made with.
unsafe impl<G: Geometry> Kind for Inner<G> {
    const HEAD: usize = offset_of!(Self, head);

    fn fresh(place: u8) -> Self {
        Self::new(place)
    }

    fn place(&self) -> u8 {
        self.place
    }
}

fn head_of<T: Kind>(node: NonNull<T>) -> NonNull<RcuHead> {
    // SAFETY: the head lies inside the node.
    unsafe { node.byte_add(T::HEAD) }.cast()
}

/// Frees the node of a head.
///
/// # Safety
///
/// `head_of` made the head from a node that came from `S`, and nobody uses it any more.
unsafe fn reclaim<T: Kind, S: Source>(head: NonNull<RcuHead>) {
    // SAFETY: the head lies so far inside the node, and its pointer is valid for the whole node.
    let node = unsafe { head.byte_sub(T::HEAD) };
    // SAFETY: the caller is the last user of the node.
    unsafe { dispose::<T, S>(node.cast()) };
}

impl<T: Kind, S: Source> Stack<T, S> {
    pub(crate) const fn new() -> Self {
        Self {
            batch: Batch::new(),
            kind: PhantomData,
            source: PhantomData,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.batch.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Takes a node that the change unlinks.
    pub(crate) fn take(&mut self, node: Ptr<'_, T>) {
        self.push(node.as_non_null());
    }

    /// Adds a node that is in no tree, or that this change unlinks.
    fn push(&mut self, node: NonNull<T>) {
        // SAFETY: the node is alive and in no other batch, because the tree has given it up here.
        // The pointer is the one that it was allocated with. It is unlinked before the batch is
        // retired, at the end of the change, and readers of the tree hold guards of that domain. A
        // node may be freed on any thread, as `Source` demands.
        unsafe { self.batch.push(head_of(node), reclaim::<T, S>) };
    }

    fn pop(&mut self) -> Option<NonNull<T>> {
        let head = self.batch.pop()?;
        // SAFETY: `push` derived it from the pointer of a node that begins so far before it.
        Some(unsafe { head.byte_sub(T::HEAD) }.cast())
    }

    fn append(&mut self, other: &mut Self) {
        self.batch.append(core::mem::take(&mut other.batch));
    }

    /// Adds new nodes until there are `len`.
    fn fill(&mut self, len: usize) -> Result<(), NoMemory> {
        // As many as no machine has: not one is obtained, let alone all that there is.
        if len > isize::MAX as usize / size_of::<T>() {
            return Err(NoMemory);
        }
        while self.len() < len {
            self.push(Run::<T, S>::new().make(1, T::fresh)?);
        }
        Ok(())
    }

    /// Frees nodes until at most `len` are left. No reader may still use them.
    fn trim(&mut self, len: usize) {
        while self.len() > len {
            let Some(node) = self.pop() else { return };
            // SAFETY: it was popped, so nobody else uses it; it came from `S`.
            unsafe { dispose::<T, S>(node) };
        }
    }
}

/// The nodes of one writer that are in no tree.
pub(crate) struct Pool<G: Geometry, S: Source> {
    leaves: Stack<Leaf<G>, S>,
    inners: Stack<Inner<G>, S>,
    old_leaves: Stack<Leaf<G>, S>,
    old_inners: Stack<Inner<G>, S>,
    /// Entries that were removed beside readers.
    entries: Batch,
    /// Entries without readers and outside of any tree, kept for their memory.
    spare: Batch,
    /// True if it was ever asked for these.
    uses_spares: bool,
    /// The number of calls of `asks` that still return false.
    patience: u8,
    /// The number of ready nodes to keep after a change without readers; the rest is freed.
    keep: Nodes,
}

// SAFETY: a pool owns its nodes, which any thread may use and free, and its batches are `Send`.
unsafe impl<G: Geometry, S: Source> Send for Pool<G, S> {}

// SAFETY: a shared reference to a pool gives only the number of its nodes.
unsafe impl<G: Geometry, S: Source> Sync for Pool<G, S> {}

impl Nodes {
    /// One leaf.
    pub(crate) const LEAF: Self = Self {
        leaves: 1,
        inners: 0,
    };

    /// The size in bytes of so many nodes of a tree with configuration `C`.
    #[must_use]
    pub const fn bytes<C: crate::maple::Config>(self) -> usize {
        self.leaves * size_of::<Leaf<C::Geometry>>() + self.inners * size_of::<Inner<C::Geometry>>()
    }

    /// True if there are at least as many of both kinds as in `need`.
    pub(crate) const fn covers(self, need: Self) -> bool {
        self.leaves >= need.leaves && self.inners >= need.inners
    }
}

/// The nodes that are kept for the next change.
const KEEP: Nodes = Nodes {
    leaves: 1,
    inners: 0,
};

/// The number of sessions that skip the check for readers after it has found some.
const PATIENCE: u8 = 16;

/// All nodes, after a reservation.
const KEEP_ALL: Nodes = Nodes {
    leaves: usize::MAX,
    inners: usize::MAX,
};

impl<G: Geometry, S: Source> Pool<G, S> {
    pub(crate) const fn new() -> Self {
        Self {
            leaves: Stack::new(),
            inners: Stack::new(),
            old_leaves: Stack::new(),
            old_inners: Stack::new(),
            entries: Batch::new(),
            spare: Batch::new(),
            uses_spares: false,
            patience: 0,
            keep: KEEP,
        }
    }

    /// Keeps all nodes from now on, or as few as a new pool.
    pub(crate) fn keep_all(&mut self, all: bool) {
        self.keep = if all { KEEP_ALL } else { KEEP };
    }

    /// The nodes that are ready.
    #[inline]
    pub(crate) fn ready(&self) -> Nodes {
        Nodes {
            leaves: self.leaves.len(),
            inners: self.inners.len(),
        }
    }

    /// Obtains nodes until there are as many as `need`.
    #[inline]
    pub(crate) fn ensure(&mut self, need: Nodes) -> Result<(), NoMemory> {
        self.leaves.fill(need.leaves)?;
        self.inners.fill(need.inners)
    }

    /// Frees nodes that are ready until there are at most `keep`.
    pub(crate) fn trim(&mut self, keep: Nodes) {
        self.leaves.trim(keep.leaves);
        self.inners.trim(keep.inners);
    }

    /// A leaf for `tree`, to be filled and closed.
    pub(crate) fn leaf<'a>(&mut self, tree: &'a Tree<G>) -> Ptr<'a, Leaf<G>> {
        let _ = tree;
        let leaf = self.leaves.pop().expect("the change has reserved leaves");
        // SAFETY: it lives until it is given up here again and freed, which happens after this
        // change at the earliest; see `Ptr`.
        unsafe { Ptr::new(leaf) }
    }

    /// An inner node without children, for `tree`, to be filled and closed.
    pub(crate) fn inner<'a>(&mut self, tree: &'a Tree<G>) -> Ptr<'a, Inner<G>> {
        let _ = tree;
        let inner = self
            .inners
            .pop()
            .expect("the change has reserved inner nodes");
        // SAFETY: as for a leaf.
        let inner = unsafe { Ptr::new(inner) };
        inner.open();
        inner
    }

    /// Takes a node that the change unlinks.
    pub(crate) fn give_up(&mut self, node: Node<'_, G>) {
        match node {
            Node::Leaf(leaf) => self.old_leaves.push(leaf.as_non_null()),
            Node::Inner(inner) => self.old_inners.push(inner.as_non_null()),
        }
    }

    /// Gives up the leaf of `displaced` that it took last.
    pub(crate) fn give_up_next<'a>(
        &mut self,
        displaced: &mut Stack<Leaf<G>, S>,
        tree: &'a Tree<G>,
    ) -> Option<Ptr<'a, Leaf<G>>> {
        let _ = tree;
        let leaf = displaced.pop()?;
        self.old_leaves.push(leaf);
        // SAFETY: it is freed or used again only after this change.
        Some(unsafe { Ptr::new(leaf) })
    }

    /// Gives up all leaves of `displaced`, whose entries need not be dropped.
    pub(crate) fn give_up_all(&mut self, displaced: &mut Stack<Leaf<G>, S>) {
        self.old_leaves.append(displaced);
    }

    /// Ends a change without readers: makes the nodes that were given up ready again, and frees
    /// those beyond the number to keep.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        let old = self.old_leaves.len() | self.old_inners.len();
        if old > 0 || !self.keep.covers(self.ready()) {
            self.recycle();
            self.trim(self.keep);
        }
    }

    /// Makes nodes that were given up ready again. There must be no readers.
    pub(super) fn recycle(&mut self) {
        self.leaves.append(&mut self.old_leaves);
        self.inners.append(&mut self.old_inners);
    }

    /// Removed entries, to be retired with the nodes.
    pub(crate) fn entries(&mut self) -> &mut Batch {
        &mut self.entries
    }

    /// Entries whose memory is ready for reuse.
    #[cfg(feature = "alloc")]
    pub(crate) fn spare(&mut self) -> &mut Batch {
        self.uses_spares = true;
        &mut self.spare
    }

    /// Removes the entries that were given up, if their memory is never used again here.
    pub(crate) fn take_unused(&mut self) -> Batch {
        match self.uses_spares {
            true => Batch::new(),
            false => core::mem::take(&mut self.entries),
        }
    }

    /// The number of entries whose memory is ready for reuse.
    pub(crate) fn spares(&self) -> usize {
        self.spare.len()
    }

    /// The numbers of nodes and entries that were given up and may have readers.
    #[inline(always)]
    pub(crate) fn given_up(&self) -> (usize, usize) {
        (
            self.old_leaves.len() + self.old_inners.len(),
            self.entries.len(),
        )
    }

    /// True if it is time to check whether readers are inside.
    pub(crate) fn asks(&mut self) -> bool {
        let asks = self.patience == 0;
        self.patience = self.patience.saturating_sub(1);
        asks
    }

    /// Postpones the next checks after one that found readers: a check takes their cache lines.
    pub(crate) fn ask_later(&mut self) {
        self.patience = PATIENCE;
    }

    /// Makes all that was given up ready again. There must be no readers, and entries must be
    /// memory alone.
    pub(crate) fn recycle_all(&mut self) {
        self.recycle();
        self.spare.append(core::mem::take(&mut self.entries));
    }

    /// Removes the nodes and entries that were given up, to be retired to the readers' domain.
    pub(crate) fn take_old(&mut self) -> Batch {
        let mut batch = core::mem::take(&mut self.entries);
        batch.append(core::mem::take(&mut self.old_leaves.batch));
        batch.append(core::mem::take(&mut self.old_inners.batch));
        batch
    }

    /// Moves all ready nodes of `other` into this pool.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        self.leaves.append(&mut other.leaves);
        self.inners.append(&mut other.inners);
    }
}

impl<G: Geometry, S: Source> Drop for Pool<G, S> {
    fn drop(&mut self) {
        self.trim(Nodes::default());
        while let Some(head) = self.spare.pop() {
            // SAFETY: it was popped, so it is reclaimed once, and no reader uses it.
            unsafe { RcuHead::reclaim(head) };
        }
        // Nodes given up but not retired may have readers, so they are leaked, as a batch is.
    }
}
