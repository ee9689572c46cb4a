//! Allocation and release of nodes, alone or many in a block.
//!
//! A copy of a tree needs all of its nodes at once, and frees most of them at once. They come in
//! blocks of [`Source::BLOCK`] bytes, in the order in which they are copied. The header of a block
//! counts its nodes that are not freed. The block is freed with the last of them.
#![expect(unsafe_code, reason = "nodes are put into memory and taken out of it")]

use core::{alloc::Layout, marker::PhantomData, ptr::NonNull};

use crate::maple::{NoMemory, Ptr, Source, Tree};
use crate::sync::{
    UnsafeCell,
    atomic::{AtomicUsize, Ordering},
    fence,
};

/// A kind of node, as its allocator sees it.
///
/// # Safety
///
/// `HEAD` is the offset of the head in a `Self`. `place` returns the place that the node was made
/// with.
pub(crate) unsafe trait Kind: Sized {
    const HEAD: usize;

    /// An empty node at this place of its block: 1 or more, or 0 for a node without a block.
    fn fresh(place: u8) -> Self;
    fn place(&self) -> u8;
}

/// The header of a block.
struct Header {
    /// Nodes that are not freed yet.
    left: AtomicUsize,
    /// Stands for the memory of the nodes, so that models see its uses and its release.
    nodes: UnsafeCell<()>,
}

/// A block of nodes of one kind.
struct Block<T, S>(PhantomData<(T, S)>);

impl<T: Kind, S: Source> Block<T, S> {
    /// The offset of the first node.
    const FIRST: usize = size_of::<Header>().next_multiple_of(align_of::<T>());

    /// The number of nodes in a block; 0 if fewer than two fit.
    const NODES: usize = {
        let nodes = S::BLOCK.saturating_sub(Self::FIRST) / size_of::<T>();
        // A place is one byte.
        match nodes {
            0 | 1 => 0,
            2..=255 => nodes,
            _ => 255,
        }
    };

    const LAYOUT: Layout = {
        let align = if align_of::<T>() > align_of::<Header>() {
            align_of::<T>()
        } else {
            align_of::<Header>()
        };
        let size = Self::FIRST + Self::NODES * size_of::<T>();
        match Layout::from_size_align(size, align) {
            Ok(layout) => layout,
            Err(_) => panic!("a block is far smaller than the address space"),
        }
    };

    fn allocate() -> Result<NonNull<Header>, NoMemory> {
        let memory = S::allocate(Self::LAYOUT).ok_or(NoMemory)?;
        let block = memory.cast::<Header>();
        let header = Header {
            left: AtomicUsize::new(Self::NODES),
            nodes: UnsafeCell::new(()),
        };
        // SAFETY: the memory is fresh, and a header has room in it.
        unsafe { block.write(header) };
        Ok(block)
    }

    /// Frees `nodes` nodes of a block, and the block with the last of them.
    ///
    /// # Safety
    ///
    /// At least `nodes` nodes of the block, or places for them, are not freed yet. Nobody uses
    /// these any more.
    unsafe fn give_back(block: NonNull<Header>, nodes: usize) {
        // SAFETY: the block has nodes that are not freed, so it is alive.
        let header = unsafe { block.as_ref() };
        header.nodes.with(|_| ());
        // Release, `block-leave`: pairs with `block-end`. Every access to these nodes happens
        // before the block is freed.
        if header.left.fetch_sub(nodes, Ordering::Release) > nodes {
            return;
        }
        // Acquire, `block-end`: pairs with every `block-leave`; as read-modify-writes they continue
        // each other's release sequences.
        fence(Ordering::Acquire);
        header.nodes.with_mut(|_| ());
        // SAFETY: no node of the block is left. Only loom's types have anything to drop.
        unsafe { block.drop_in_place() };
        // SAFETY: the block came from the source with this layout, and nobody uses it any more.
        unsafe { S::free(block.cast(), Self::LAYOUT) };
    }
}

/// A sequence of new nodes of one kind, taken from blocks while many are wanted.
pub(crate) struct Run<T: Kind, S: Source> {
    /// The block that still has room, and the number of nodes taken from it.
    block: Option<NonNull<Header>>,
    taken: usize,
    kind: PhantomData<(T, S)>,
}

impl<T: Kind, S: Source> Run<T, S> {
    pub(crate) const fn new() -> Self {
        Self {
            block: None,
            taken: 0,
            kind: PhantomData,
        }
    }

    /// Allocates a node, which `make` makes for its place. `wanted` is the number of nodes still to
    /// be made, this one included.
    pub(crate) fn make(
        &mut self,
        wanted: usize,
        make: impl FnOnce(u8) -> T,
    ) -> Result<NonNull<T>, NoMemory> {
        if self.block.is_none() && Block::<T, S>::NODES > 0 && wanted >= Block::<T, S>::NODES {
            self.block = Some(Block::<T, S>::allocate()?);
            self.taken = 0;
        }
        let Some(block) = self.block else {
            let node = S::allocate(Layout::new::<T>()).ok_or(NoMemory)?.cast::<T>();
            // SAFETY: the memory is fresh and has the layout of a node.
            unsafe { node.write(make(0)) };
            return Ok(node);
        };
        let at = Block::<T, S>::FIRST + self.taken * size_of::<T>();
        // SAFETY: not all nodes of the block were taken, so this place lies in it.
        let node = unsafe { block.byte_add(at) }.cast::<T>();
        self.taken += 1;
        // SAFETY: the place is aligned for a node, and nobody else uses it.
        unsafe { node.write(make(self.taken as u8)) };
        if self.taken == Block::<T, S>::NODES {
            self.block = None;
        }
        Ok(node)
    }

    /// As `make`, for a tree.
    pub(crate) fn node<'a, G: crate::maple::Geometry>(
        &mut self,
        tree: &'a Tree<G>,
        wanted: usize,
        make: impl FnOnce(u8) -> T,
    ) -> Result<Ptr<'a, T>, NoMemory> {
        let _ = tree;
        let node = self.make(wanted, make)?;
        // SAFETY: only a pool frees it, as with the other nodes of the tree; see `Ptr`.
        Ok(unsafe { Ptr::new(node) })
    }
}

impl<T: Kind, S: Source> Drop for Run<T, S> {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            // SAFETY: these places were neither taken nor freed.
            unsafe { Block::<T, S>::give_back(block, Block::<T, S>::NODES - self.taken) };
        }
    }
}

/// Frees a node, and its block if it is the last node there.
///
/// # Safety
///
/// The node came from a run with this source, and nobody uses it any more.
pub(super) unsafe fn dispose<T: Kind, S: Source>(node: NonNull<T>) {
    // SAFETY: the node is not freed yet.
    let place = usize::from(unsafe { node.as_ref() }.place());
    // SAFETY: nobody uses it any more. Only loom's types have anything to drop.
    unsafe { node.drop_in_place() };
    let Some(before) = place.checked_sub(1) else {
        // SAFETY: it has no block, and came from the source with this layout.
        return unsafe { S::free(node.cast(), Layout::new::<T>()) };
    };
    let at = Block::<T, S>::FIRST + before * size_of::<T>();
    // SAFETY: a node at this place lies so many bytes behind the start of its block, and its
    // pointer was derived from that of the block.
    let block = unsafe { node.byte_sub(at) }.cast::<Header>();
    // SAFETY: this node of the block was not freed before.
    unsafe { Block::<T, S>::give_back(block, 1) };
}
