//! Links between nodes, and pointers to nodes.
#![expect(unsafe_code, reason = "a node is reached by its pointer")]

use core::{marker::PhantomData, ops::Deref, ptr, ptr::NonNull};

use crate::forms::copies;
use crate::maple::{Geometry, Inner, Leaf, Nodes};
use crate::sync::{
    atomic::{AtomicPtr, Ordering},
    const_unless_loom,
};

/// A node that stays allocated for `'a`.
///
/// It is like a reference, but keeps the pointer that the node was allocated with, so that the node
/// can be freed through it.
///
/// Nodes are read through a borrow `'a` of their tree, by readers also for the lifetime of a guard.
/// Only `pool.rs` frees a node: with the tree borrowed for a change and no such `'a` left, or after
/// a grace period.
pub(crate) struct Ptr<'a, T> {
    node: NonNull<T>,
    tree: PhantomData<&'a T>,
}

copies! { Ptr<'_, T> where [T]; }

impl<'a, T> Ptr<'a, T> {
    /// # Safety
    ///
    /// The node is alive, and stays alive for the lifetime that the caller chooses.
    #[inline(always)]
    pub(crate) unsafe fn new(node: NonNull<T>) -> Self {
        Self {
            node,
            tree: PhantomData,
        }
    }

    /// The pointer that the node was allocated with.
    pub(crate) fn as_non_null(self) -> NonNull<T> {
        self.node
    }

    /// The node.
    #[inline(always)]
    pub(crate) fn get(self) -> &'a T {
        // SAFETY: alive for `'a`, as the caller of `new` promised; all of a node can be shared.
        unsafe { self.node.as_ref() }
    }

    /// True if both are the same node.
    pub(crate) fn is(self, other: Self) -> bool {
        self.node == other.node
    }
}

impl<T> Deref for Ptr<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.get()
    }
}

impl<T> core::fmt::Debug for Ptr<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.node.fmt(f)
    }
}

/// A node of either kind.
pub(crate) enum Node<'a, G: Geometry> {
    Leaf(Ptr<'a, Leaf<G>>),
    Inner(Ptr<'a, Inner<G>>),
}

copies! { Node<'_, G> where [G: Geometry]; }

impl<'a, G: Geometry> Node<'a, G> {
    /// The first child of an inner node.
    pub(crate) fn first_child(&self) -> Option<Node<'a, G>> {
        match self {
            Self::Leaf(_) => None,
            Self::Inner(inner) => inner.get().link(0).load(),
        }
    }

    /// The number of nodes from this one down.
    pub(crate) fn count(&self) -> Nodes {
        let mut nodes = Nodes::default();
        match self {
            Self::Leaf(_) => nodes.leaves = 1,
            Self::Inner(inner) => {
                nodes.inners = 1;
                let children = (0..inner.len()).filter_map(|at| inner.get().link(at).load());
                for below in children.map(|child| child.count()) {
                    nodes.leaves += below.leaves;
                    nodes.inners += below.inners;
                }
            }
        }
        nodes
    }
}

/// A link of a tree or an inner node: null, or a node's pointer, with the low bit set for a leaf.
pub(crate) struct Link<G: Geometry> {
    word: AtomicPtr<u8>,
    geometry: PhantomData<G>,
}

const LEAF: usize = 1;

impl<G: Geometry> Link<G> {
    const_unless_loom! {
        /// An empty link.
        pub(crate) const fn none() -> Self {
            Self { word: AtomicPtr::new(ptr::null_mut()), geometry: PhantomData }
        }
    }

    fn word_of(node: Node<'_, G>) -> *mut u8 {
        match node {
            Node::Leaf(leaf) => leaf.node.as_ptr().cast::<u8>().map_addr(|at| at | LEAF),
            Node::Inner(inner) => inner.node.as_ptr().cast(),
        }
    }

    /// The node that the link leads to.
    #[inline(always)]
    pub(crate) fn load<'a>(&'a self) -> Option<Node<'a, G>> {
        // Acquire: pairs with `link-publish`; the node is seen as it was published.
        let word = self.word.load(Ordering::Acquire);
        if word.addr() & LEAF != 0 {
            let leaf = word.map_addr(|at| at & !LEAF).cast();
            // SAFETY: not null, because an odd word was made from a leaf's pointer.
            let leaf = unsafe { NonNull::new_unchecked(leaf) };
            // SAFETY: a linked node outlives every borrow of its link; see `Ptr`.
            return Some(Node::Leaf(unsafe { Ptr::new(leaf) }));
        }
        let inner = NonNull::new(word.cast())?;
        // SAFETY: as above.
        Some(Node::Inner(unsafe { Ptr::new(inner) }))
    }

    /// Makes the link lead to `node`, which no reader has seen before, or which readers already
    /// use.
    pub(crate) fn publish(&self, node: Node<'_, G>) {
        // Release, `link-publish`: pairs with the load above.
        self.word.store(Self::word_of(node), Ordering::Release);
    }

    /// As `publish`, in a node that is not published yet.
    pub(crate) fn put(&self, node: Node<'_, G>) {
        // Relaxed: `link-publish` of the node around it follows.
        self.word.store(Self::word_of(node), Ordering::Relaxed);
    }

    /// As `put`, with the node that `other` leads to.
    pub(crate) fn copy(&self, other: &Self) {
        // Relaxed: as in `put`; the writer has seen all nodes.
        self.word
            .store(other.word.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Makes the link empty.
    pub(crate) fn clear(&self) {
        // Relaxed: a reader follows nothing from an empty link.
        self.word.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
