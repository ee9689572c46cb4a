//! Nodes out of their source and back: alone, or many in a block.
//!
//! A copy of a tree needs all of its nodes at once, and gives most of them back at once. They come
//! in blocks of [`Source::BLOCK`] bytes, one behind the other as they are copied. A block goes back
//! with the last of its nodes: its header counts those that are left.
#![expect(unsafe_code, reason = "nodes are put into memory and taken out of it")]

use core::{alloc::Layout, marker::PhantomData, ptr::NonNull};

use super::{link::Ptr, pool::NoMemory, source::Source, tree::Tree};
use crate::sync::{
    UnsafeCell,
    atomic::{AtomicUsize, Ordering},
    fence,
};

/// What nodes are to who makes them.
///
/// # Safety
///
/// `HEAD` is where the head of a `Self` is, and `place` the one that the node was made with.
pub(super) unsafe trait Kind: Sized {
    const HEAD: usize;

    /// A node with nothing in it, at that place of a block: from 1 on, and 0 for one that is alone.
    fn fresh(place: u8) -> Self;
    fn place(&self) -> u8;
}

/// What a block begins with.
struct Header {
    /// Nodes that were not given back.
    left: AtomicUsize,
    /// Stands for the memory of the nodes, so that models see who uses it and who frees it.
    nodes: UnsafeCell<()>,
}

/// A block of nodes of one kind.
struct Block<T, S>(PhantomData<(T, S)>);

impl<T: Kind, S: Source> Block<T, S> {
    /// Where the first node is.
    const FIRST: usize = size_of::<Header>().next_multiple_of(align_of::<T>());

    /// Nodes of a block; none if no two have room.
    const NODES: usize = {
        let nodes = S::BLOCK.saturating_sub(Self::FIRST) / size_of::<T>();
        // A place is a byte.
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

    /// Gives `nodes` of a block back, and with the last one the block.
    ///
    /// # Safety
    ///
    /// Of the block so many nodes, or places for them, were not given back, and nobody uses them
    /// any more.
    unsafe fn give_back(block: NonNull<Header>, nodes: usize) {
        // SAFETY: it has nodes that were not given back, so it is alive.
        let header = unsafe { block.as_ref() };
        header.nodes.with(|_| ());
        // Release, `block-leave`: pairs with `block-end`. Whatever was done to these nodes happens
        // before the block is freed.
        if header.left.fetch_sub(nodes, Ordering::Release) > nodes {
            return;
        }
        // Acquire, `block-end`: pairs with every `block-leave`; as read-modify-writes they continue
        // each other's release sequences.
        fence(Ordering::Acquire);
        header.nodes.with_mut(|_| ());
        // SAFETY: it has no nodes any more. Only under loom there is something to be dropped.
        unsafe { block.drop_in_place() };
        // SAFETY: it came from the source with this layout, and nobody uses it any more.
        unsafe { S::free(block.cast(), Self::LAYOUT) };
    }
}

/// Where nodes of one kind come from one after the other: from blocks while many are wanted.
pub(super) struct Run<T: Kind, S: Source> {
    /// The block that still has room, and how many nodes were taken from it.
    block: Option<NonNull<Header>>,
    taken: usize,
    kind: PhantomData<(T, S)>,
}

impl<T: Kind, S: Source> Run<T, S> {
    pub(super) const fn new() -> Self {
        Self {
            block: None,
            taken: 0,
            kind: PhantomData,
        }
    }

    /// The node that `make` makes for its place, where `wanted` are, this one among them.
    pub(super) fn make(
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
        // SAFETY: fewer than all nodes of the block were taken, so this place lies in it.
        let node = unsafe { block.byte_add(at) }.cast::<T>();
        self.taken += 1;
        // SAFETY: the place is there and aligned for a node, and nobody else's.
        unsafe { node.write(make(self.taken as u8)) };
        if self.taken == Block::<T, S>::NODES {
            self.block = None;
        }
        Ok(node)
    }

    /// As `make`, for a tree.
    pub(super) fn node<'a, G: super::Geometry>(
        &mut self,
        tree: &'a Tree<G>,
        wanted: usize,
        make: impl FnOnce(u8) -> T,
    ) -> Result<Ptr<'a, T>, NoMemory> {
        let _ = tree;
        let node = self.make(wanted, make)?;
        // SAFETY: it is given back by a pool only, as other nodes of the tree are; see `Ptr`.
        Ok(unsafe { Ptr::new(node) })
    }
}

impl<T: Kind, S: Source> Drop for Run<T, S> {
    fn drop(&mut self) {
        if let Some(block) = self.block {
            // SAFETY: these places were not taken, nor given back.
            unsafe { Block::<T, S>::give_back(block, Block::<T, S>::NODES - self.taken) };
        }
    }
}

/// Gives a node back to its source, with its block if it is the last one there.
///
/// # Safety
///
/// The node came from a run of that source, and nobody uses it any more.
pub(super) unsafe fn dispose<T: Kind, S: Source>(node: NonNull<T>) {
    // SAFETY: it was not given back before.
    let place = usize::from(unsafe { node.as_ref() }.place());
    // SAFETY: nobody uses it any more. Only under loom there is something to be dropped.
    unsafe { node.drop_in_place() };
    let Some(before) = place.checked_sub(1) else {
        // SAFETY: it was alone, and came from the source with this layout.
        return unsafe { S::free(node.cast(), Layout::new::<T>()) };
    };
    let at = Block::<T, S>::FIRST + before * size_of::<T>();
    // SAFETY: so far before a node at that place its block begins, and the node's pointer was made
    // of the block's.
    let block = unsafe { node.byte_sub(at) }.cast::<Header>();
    // SAFETY: the node is one of those that were not given back.
    unsafe { Block::<T, S>::give_back(block, 1) };
}
