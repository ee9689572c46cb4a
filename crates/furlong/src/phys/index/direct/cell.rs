//! Cells: sections in which lookups find one stretch of one segment, or nothing.
//!
//! A cell never changes, but for its index. To change a section, the writer replaces its cell by
//! another cell or by a leaf. A reader therefore always sees words that belong together. The index
//! changes in place if the frames get another segment, as above a hole that splits one: a change
//! that may not allocate would replace a cell for each isolation there. Both indices are right for
//! a reader that is inside.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::leaf::{Base, Block};
use super::runs::{SPARE_LAYOUT, Spares};
use crate::forms::copies;
use crate::phys::{Memory, Pool};
use crate::sync::atomic::{AtomicU32, Ordering};

/// Says that exactly the frames `start..start + len` are found. In a shared cell, for sections that
/// lie wholly in one segment, that range is all frames.
#[repr(C)]
pub(super) struct Cell<D> {
    pub(super) start: u64,
    pub(super) len: u64,
    /// See [`Base`].
    pub(super) base: *mut D,
    index: AtomicU32,
    pub(super) kind: CellKind,
    /// True if the cell is in a spare piece.
    is_spare: bool,
}

/// The users of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    /// All sections in which nothing is found.
    Empty,
    /// All sections that lie wholly in one segment.
    Shared,
    /// One section.
    Own,
}

/// The lowest bit of a word that leads to a cell.
const TAG: usize = 1;

const _: () = assert!(align_of::<Cell<u8>>() > TAG && align_of::<Block<u8>>() > TAG);
const _: () = assert!(size_of::<Cell<u8>>() <= SPARE_LAYOUT.size());
const _: () = assert!(align_of::<Cell<u8>>() <= SPARE_LAYOUT.align());

/// The cell that a word leads to; `None` if it leads to blocks.
#[inline(always)]
pub(super) fn cell<'a, D>(word: *mut Block<D>) -> Option<&'a Cell<D>> {
    // SAFETY: a tagged word leads to a cell. Cells are freed after a grace period, and the writer
    // keeps those that it works with.
    (word.addr() & TAG != 0).then(|| unsafe { &*place(word) })
}

/// The address of the cell that a tagged word leads to.
fn place<D>(word: *mut Block<D>) -> *mut Cell<D> {
    word.map_addr(|addr| addr & !TAG).cast()
}

/// Reference to a live cell.
pub(super) struct CellRef<D>(NonNull<Cell<D>>);

copies! { CellRef<D> where [D]; }

impl<D> CellRef<D> {
    /// The cell of a word that leads to one.
    pub(super) fn of_word(word: *mut Block<D>) -> Option<Self> {
        let place = NonNull::new(place(word)).filter(|_| word.addr() & TAG != 0);
        place.map(Self)
    }

    /// The cell of a mark: null, or a word from [`word`](Self::word).
    pub(super) fn of_mark(mark: *mut ()) -> Option<Self> {
        Self::of_word(mark.cast())
    }

    /// The word that leads to the cell.
    pub(super) fn word(self) -> *mut Block<D> {
        self.0
            .as_ptr()
            .cast::<Block<D>>()
            .map_addr(|addr| addr | TAG)
    }

    pub(super) fn get<'a>(self) -> &'a Cell<D> {
        // SAFETY: the cell is alive, and only its index changes, an atomic word.
        unsafe { self.0.as_ref() }
    }

    /// Makes a cell, in new memory or else in a spare piece.
    pub(super) fn new(cell: Cell<D>, memory: &mut Memory, spares: &mut Spares) -> Self {
        let exact = memory.alloc(Layout::new::<Cell<D>>()).ok();
        let is_spare = exact.is_none();
        let place = exact.unwrap_or_else(|| spares.take()).cast::<Cell<D>>();
        // SAFETY: the piece is ours, with room for a cell.
        unsafe { place.write(Cell { is_spare, ..cell }) };
        Self(place)
    }

    /// The cell's memory, to be freed when no reader has it.
    pub(super) fn piece(self) -> (NonNull<u8>, Layout) {
        let layout = if self.get().is_spare {
            SPARE_LAYOUT
        } else {
            Layout::new::<Cell<D>>()
        };
        (self.0.cast(), layout)
    }

    pub(super) fn bytes(self) -> usize {
        Pool::footprint(self.piece().1)
    }

    /// # Safety
    /// No reader has the cell, and nothing leads to it.
    pub(super) unsafe fn free(self, memory: &mut Memory) {
        let (piece, layout) = self.piece();
        // SAFETY: it was allocated with this layout; the caller's promise.
        unsafe { memory.free(piece, layout) };
    }
}

impl<D> Cell<D> {
    /// A cell in which these frames of the segment at `index` are found.
    pub(super) fn new(kind: CellKind, (start, len): (u64, u64), base: *mut D, index: u32) -> Self {
        Self {
            start,
            len,
            base,
            index: AtomicU32::new(index),
            kind,
            is_spare: false,
        }
    }

    /// A cell in which nothing is found.
    pub(super) fn empty() -> Self {
        Self::new(CellKind::Empty, (0, 0), Base::unused(), 0)
    }

    /// True if both cells say the same, but perhaps with other indices.
    pub(super) fn says(&self, other: &Self) -> bool {
        let said = |cell: &Self| (cell.start, cell.len, cell.base, cell.kind);
        said(self) == said(other)
    }

    #[inline(always)]
    pub(super) fn index(&self) -> u32 {
        // Acquire: pairs with `cell-index`; the entry is seen.
        self.index.load(Ordering::Acquire)
    }

    /// Changes the index to that of a segment which has the same frames and descriptors.
    pub(super) fn set_index(&self, index: u32) {
        // Release, `cell-index`: pairs with the load in `index`.
        self.index.store(index, Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn has(&self, frame: u64) -> bool {
        frame.wrapping_sub(self.start) < self.len
    }
}
