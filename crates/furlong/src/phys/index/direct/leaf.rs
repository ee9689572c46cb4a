//! Leaves: the blocks of a section, or of all near frames.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::runs::{Runs, Starts};
use crate::forms::copies;
use crate::phys::{Memory, NoMemory, Pool};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The index data of 64 frames.
#[repr(C)]
pub(super) struct Block<D> {
    /// A set bit for each frame that is found.
    pub(super) valid: AtomicU64,
    /// See [`Base`].
    pub(super) base: AtomicPtr<D>,
    /// See [`Runs`].
    runs: AtomicPtr<Starts>,
}

impl<D> Block<D> {
    fn new() -> Self {
        Self {
            valid: AtomicU64::new(0),
            base: AtomicPtr::new(Base::unused()),
            runs: AtomicPtr::new(Runs::NONE.0),
        }
    }

    #[inline(always)]
    pub(super) fn runs(&self) -> Runs {
        // Acquire: pairs with `block-runs`; the piece that the word points to is seen.
        Runs(self.runs.load(Ordering::Acquire))
    }

    pub(super) fn set_runs(&self, runs: Runs) {
        // Release, `block-runs`: pairs with the load in `runs`.
        self.runs.store(runs.0, Ordering::Release);
    }

    /// Copies a block that belongs to the writer.
    pub(super) fn copy_from(&self, other: &Self) {
        // Relaxed: the writer's own words, and those of a leaf that is published later.
        let valid = other.valid.load(Ordering::Relaxed);
        let base = other.base.load(Ordering::Relaxed);
        let runs = other.runs.load(Ordering::Relaxed);
        self.valid.store(valid, Ordering::Relaxed);
        self.base.store(base, Ordering::Relaxed);
        self.runs.store(runs, Ordering::Relaxed);
    }
}

/// The special values of a base: the address at which the descriptor of frame 0 would be, if one
/// address leads to all descriptors of the block's frames.
pub(super) struct Base;

impl Base {
    /// No common base: there are no descriptors, or they are in different slabs. Use the segment's.
    pub(super) const fn elsewhere<D>() -> *mut D {
        core::ptr::null_mut()
    }

    /// The base of a block without frames. Lookups treat it as any other base.
    pub(super) const fn unused<D>() -> *mut D {
        core::ptr::without_provenance_mut(1)
    }
}

/// A leaf's header, just below its blocks.
struct Head<D> {
    /// Link in the lists of spare and of retired leaves.
    next: Option<Leaf<D>>,
    blocks: u32,
    kind: Kind,
}

/// Ownership of a leaf's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The leaf owns the runs that it points to.
    Own,
    /// Another leaf has taken over the runs.
    Moved,
}

/// Reference to a live leaf. It points to the blocks, so that a lookup needs no offset.
pub(super) struct Leaf<D>(NonNull<Block<D>>);

copies! { Leaf<D> where [D]; }

impl<D> Leaf<D> {
    /// # Safety
    /// `blocks` came from `as_ptr` of a leaf that is alive for as long as this is used.
    #[inline]
    pub(super) unsafe fn from_ptr(blocks: *mut Block<D>) -> Option<Self> {
        NonNull::new(blocks).map(Self)
    }

    pub(super) fn as_ptr(self) -> *mut Block<D> {
        self.0.as_ptr()
    }

    /// The layout of a leaf, and the offset of its blocks.
    fn layout(blocks: usize) -> Result<(Layout, usize), NoMemory> {
        let blocks = Layout::array::<Block<D>>(blocks).map_err(|_| NoMemory)?;
        let all = Layout::new::<Head<D>>().extend(blocks);
        all.map_err(|_| NoMemory)
    }

    /// Bytes of a leaf with `blocks` blocks.
    pub(super) fn footprint(blocks: usize) -> usize {
        Self::layout(blocks).map_or(0, |(layout, _)| Pool::footprint(layout))
    }

    /// Makes a leaf in which nothing is found.
    pub(super) fn new(memory: &mut Memory, blocks: usize) -> Result<Self, NoMemory> {
        let (layout, start) = Self::layout(blocks)?;
        let piece = memory.alloc(layout)?;
        // SAFETY: the blocks begin at this offset of the layout.
        let leaf = Self(unsafe { piece.add(start) }.cast());
        for at in 0..blocks {
            // SAFETY: the layout has room for `blocks` blocks.
            let place = unsafe { leaf.0.add(at) };
            // SAFETY: as above, and the memory is ours.
            unsafe { place.write(Block::new()) };
        }
        let head = Head {
            next: None,
            blocks: blocks as u32,
            kind: Kind::Own,
        };
        // SAFETY: the layout has room for the header below the blocks.
        unsafe { leaf.head_place().write(head) };
        Ok(leaf)
    }

    /// Frees the leaf and the runs that it owns.
    ///
    /// # Safety
    /// No reader has the leaf, and nothing leads to it.
    pub(super) unsafe fn free(self, memory: &mut Memory) {
        for block in self.all() {
            if let (Some((piece, layout)), Kind::Own) = (block.runs().piece(), self.kind()) {
                // SAFETY: the runs belonged to this leaf only.
                unsafe { memory.free(piece, layout) };
            }
        }
        let Ok((layout, start)) = Self::layout(self.blocks()) else {
            return;
        };
        // SAFETY: the blocks begin at this offset of the layout.
        let piece = unsafe { self.0.cast::<u8>().sub(start) };
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        unsafe { memory.free(piece, layout) };
    }

    /// Frees a list of leaves.
    ///
    /// # Safety
    /// `first` is the head of a list of leaves that no reader has and nothing leads to.
    pub(super) unsafe fn free_list(first: NonNull<u8>, memory: &mut Memory) {
        let mut next = Some(Self(first.cast()));
        while let Some(leaf) = next {
            next = leaf.next();
            // SAFETY: the caller's promise.
            unsafe { leaf.free(memory) };
        }
    }

    /// The leaf for the deferred memory; see [`free_list`](Self::free_list).
    pub(super) fn as_bytes(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// Bytes of the leaf and of the runs that it owns.
    pub(super) fn bytes(self) -> usize {
        let runs = self.all().iter().map(|block| block.runs().bytes());
        let runs = match self.kind() {
            Kind::Own => runs.sum(),
            Kind::Moved => 0,
        };
        Self::footprint(self.blocks()) + runs
    }

    /// All blocks, for the writer.
    pub(super) fn all<'a>(self) -> &'a [Block<D>] {
        // SAFETY: the leaf is alive and has this number of blocks.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr(), self.blocks()) }
    }

    #[inline]
    fn head_place(self) -> NonNull<Head<D>> {
        // SAFETY: the header is just below the blocks, by `layout`.
        unsafe { self.0.cast::<Head<D>>().sub(1) }
    }

    fn head<'a>(self) -> &'a Head<D> {
        // SAFETY: the leaf is alive; only the writer, which calls this, changes its header.
        unsafe { self.head_place().as_ref() }
    }

    pub(super) fn blocks(self) -> usize {
        self.head().blocks as usize
    }

    pub(super) fn kind(self) -> Kind {
        self.head().kind
    }

    pub(super) fn next(self) -> Option<Self> {
        self.head().next
    }

    pub(super) fn set_kind(self, kind: Kind) {
        // SAFETY: the leaf is alive, and no reader looks at its header.
        unsafe { (*self.head_place().as_ptr()).kind = kind };
    }

    pub(super) fn set_next(self, next: Option<Self>) {
        // SAFETY: the leaf is alive, and no reader looks at its header.
        unsafe { (*self.head_place().as_ptr()).next = next };
    }
}
