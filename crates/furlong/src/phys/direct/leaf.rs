//! Leaves: what is known about the blocks of a section.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::super::error::NoMemory;
use super::super::memory::Memory;
use super::geometry::{BLOCKS, block_of};
use super::runs::{Runs, Starts};
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a page lookup reads of a block; in one cache line.
#[repr(C, align(16))]
pub(super) struct Pair<D> {
    pub(super) valid: AtomicU64,
    /// See [`Base`].
    pub(super) base: AtomicPtr<D>,
}

/// Where the descriptor of frame 0 would be, or that there is no such thing.
pub(super) struct Base;

impl Base {
    /// No frame of the block has a descriptor.
    pub(super) const fn none<D>() -> *mut D {
        core::ptr::null_mut()
    }

    /// Segments of the block have descriptors in different slabs.
    pub(super) const fn many<D>() -> *mut D {
        core::ptr::without_provenance_mut(1)
    }

    #[inline]
    pub(super) fn is_special<D>(base: *mut D) -> bool {
        base.addr() < 2
    }
}

/// A leaf's own words, just below its pairs; the words of the runs stand below them, downwards.
#[repr(align(16))]
struct Head<D> {
    /// In the lists of spare and of retired leaves.
    next: Option<Leaf<D>>,
    blocks: u32,
    kind: Kind,
}

/// Whose a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One section's, with the runs that it points to.
    Own,
    /// Shared by sections that are alike.
    Shared,
    /// One section's, of which another leaf has taken over the runs.
    Moved,
}

/// Names a leaf that is alive: by its pairs, so that a lookup has no way to go.
pub(super) struct Leaf<D>(NonNull<Pair<D>>);

impl<D> Clone for Leaf<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Leaf<D> {}

impl<D> PartialEq for Leaf<D> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<D> Leaf<D> {
    /// # Safety
    /// `pairs` came from `as_ptr` of a leaf that is alive for as long as this is used.
    #[inline]
    pub(super) unsafe fn from_ptr(pairs: *mut Pair<D>) -> Option<Self> {
        NonNull::new(pairs).map(Self)
    }

    /// # Safety
    /// As [`from_ptr`](Self::from_ptr), and `pairs` is not null.
    #[inline(always)]
    pub(super) unsafe fn from_ptr_unchecked(pairs: *mut Pair<D>) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { NonNull::new_unchecked(pairs) })
    }

    pub(super) fn as_ptr(self) -> *mut Pair<D> {
        self.0.as_ptr()
    }

    /// The layout of a leaf, and where in it the pairs begin.
    fn layout(blocks: usize) -> Result<(Layout, usize), NoMemory> {
        let runs = Layout::array::<AtomicPtr<Starts>>(blocks).map_err(|_| NoMemory)?;
        let (head, _) = runs
            .extend(Layout::new::<Head<D>>())
            .map_err(|_| NoMemory)?;
        let pairs = Layout::array::<Pair<D>>(blocks).map_err(|_| NoMemory)?;
        let (all, start) = head.extend(pairs).map_err(|_| NoMemory)?;
        // A pair must not lie in two cache lines.
        let all = all.align_to(64).map_err(|_| NoMemory)?;
        Ok((all, start))
    }

    /// Bytes of a leaf with all blocks.
    pub(super) fn footprint() -> usize {
        Self::layout(BLOCKS).map_or(0, |(layout, _)| Memory::footprint(layout))
    }

    /// A leaf in which nothing is found.
    pub(super) fn new(memory: &mut Memory, blocks: usize) -> Result<Self, NoMemory> {
        let (layout, start) = Self::layout(blocks)?;
        let piece = memory.alloc(layout)?;
        // SAFETY: the pairs begin there in the layout.
        let leaf = Self(unsafe { piece.add(start) }.cast());
        for at in 0..blocks {
            let pair = Pair {
                valid: AtomicU64::new(0),
                base: AtomicPtr::new(Base::none()),
            };
            // SAFETY: the layout has room for so many pairs.
            let place = unsafe { leaf.0.add(at) };
            // SAFETY: as above, and the memory is ours.
            unsafe { place.write(pair) };
            // SAFETY: the layout has room for so many words, and the memory is ours.
            unsafe { leaf.runs_place(at).write(AtomicPtr::new(Runs::NONE.0)) };
        }
        let head = Head {
            next: None,
            blocks: blocks as u32,
            kind: Kind::Own,
        };
        // SAFETY: the layout has room for it below the pairs.
        unsafe { leaf.head_place().write(head) };
        Ok(leaf)
    }

    /// Gives its memory back, and that of its runs.
    ///
    /// # Safety
    /// No reader has it and nothing leads to it.
    pub(super) unsafe fn free(self, memory: &mut Memory) {
        let blocks = self.blocks();
        for at in 0..blocks {
            let runs = self.runs_word(at);
            if let (Some((piece, layout)), Kind::Own) = (runs.piece(), self.kind()) {
                // SAFETY: the runs were this leaf's alone.
                unsafe { memory.free(piece, layout) };
            }
        }
        let Ok((layout, start)) = Self::layout(blocks) else {
            return;
        };
        // SAFETY: the pairs begin there in the layout.
        let piece = unsafe { self.0.cast::<u8>().sub(start) };
        // SAFETY: it was allocated so, and nobody uses it any more.
        unsafe { memory.free(piece, layout) };
    }

    /// Gives back a list of leaves.
    ///
    /// # Safety
    /// `first` is the first of a list of leaves that no reader has and nothing leads to.
    pub(super) unsafe fn free_list(first: NonNull<u8>, memory: &mut Memory) {
        let mut next = Some(Self(first.cast()));
        while let Some(leaf) = next {
            next = leaf.next();
            // SAFETY: the caller's promise.
            unsafe { leaf.free(memory) };
        }
    }

    /// For the limbo; see [`free_list`](Self::free_list).
    pub(super) fn as_bytes(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// Bytes of the leaf and of the runs that it owns.
    pub(super) fn bytes(self) -> usize {
        let runs = (0..self.blocks()).map(|at| self.runs_word(at).bytes());
        let runs = if self.kind() == Kind::Own {
            runs.sum()
        } else {
            0
        };
        Self::layout(self.blocks()).map_or(0, |(layout, _)| Memory::footprint(layout)) + runs
    }

    /// The pair of a frame's block, in a leaf that has that block.
    #[inline]
    pub(super) fn pair<'a>(self, frame: u64) -> &'a Pair<D> {
        self.pair_at(block_of(frame))
    }

    #[inline]
    pub(super) fn pair_at<'a>(self, block: usize) -> &'a Pair<D> {
        // SAFETY: a lookup asks for frames below the limit, for which the leaf has blocks; the
        // writer knows how many there are.
        let place = unsafe { self.0.add(block) };
        // SAFETY: the leaf is alive.
        unsafe { place.as_ref() }
    }

    /// The runs of a frame's block, whose valid bit was seen.
    #[inline]
    pub(super) fn runs(self, frame: u64) -> Runs {
        self.runs_word(block_of(frame))
    }

    #[inline]
    pub(super) fn runs_word(self, block: usize) -> Runs {
        // SAFETY: the leaf is alive and has the block.
        let word = unsafe { self.runs_place(block).as_ref() };
        // Acquire: pairs with `leaf-runs`; what the word points to is seen.
        Runs(word.load(Ordering::Acquire))
    }

    pub(super) fn set_runs(self, block: usize, runs: Runs) {
        // SAFETY: the leaf is alive and has the block.
        let word = unsafe { self.runs_place(block).as_ref() };
        // Release, `leaf-runs`: pairs with the load in `runs_word`.
        word.store(runs.0, Ordering::Release);
    }

    #[inline]
    fn runs_place(self, block: usize) -> NonNull<AtomicPtr<Starts>> {
        // SAFETY: the words stand below the head, downwards, as `layout` has it.
        unsafe { self.head_place().cast::<AtomicPtr<Starts>>().sub(block + 1) }
    }

    #[inline]
    fn head_place(self) -> NonNull<Head<D>> {
        // SAFETY: the head stands just below the pairs, as `layout` has it.
        unsafe { self.0.cast::<Head<D>>().sub(1) }
    }

    fn head<'a>(self) -> &'a Head<D> {
        // SAFETY: the leaf is alive; only the writer, who asks, changes its head.
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
        // SAFETY: the leaf is alive, and no reader looks at its head.
        unsafe { (*self.head_place().as_ptr()).kind = kind };
    }

    pub(super) fn set_next(self, next: Option<Self>) {
        // SAFETY: the leaf is alive, and no reader looks at its head.
        unsafe { (*self.head_place().as_ptr()).next = next };
    }
}
