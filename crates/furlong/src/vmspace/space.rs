//! The space: its areas, and what is asked of them.
#![forbid(unsafe_code)]

use core::fmt;

use super::hold::Own;
use super::layout::Grid;
use super::{
    Area, Attr, Config, Entry, Flags, Freed, Hold, Index, Layout, LayoutError, NoMemory, Owned,
    Pages, Piece, Standard, Unmapped, Usage, Value,
};
use crate::addr::{Extent, VirtAddr};

/// The areas of one address space, each with what the caller keeps with it.
///
/// It knows nothing of page tables, files and processes: what is mapped, changed and unmapped is
/// told, and the caller does it. `&mut self` and no lock; what an operation refuses, it refuses as
/// Linux does, number for number: `errno` of each error, or an [`Errno`](super::Errno) by `?`.
///
/// What keeps the areas is the configuration's: the B-tree of ranges in [`Standard`], a red-black
/// tree in [`Custom`](super::Custom)`<`[`Rbtree`](super::Rbtree)`>`.
///
/// # Panics
/// Where the caller's code panics in the middle of an operation (`freed`, `copy`, a [`Value`] or
/// its drop), the space stays whole. Each change of the index has been made or not, and what one
/// has taken out is dropped where it was not handed out yet: pages that were to be replaced may be
/// unmapped, and those that were to become one area with a neighbour too.
///
/// # Example
/// ```
/// use furlong::addr::VirtAddr;
/// use furlong::vmspace::{Access, At, Errno, FaultError, Layout, Prot, Request, Space};
///
/// let mut space: Space<u32> = Space::new(Layout::LINUX_X86_64)?;
/// let text = Request::object(0x3000, Prot::READ | Prot::EXEC, 0, 7);
/// let text = space.map(text.at(At::Fixed(VirtAddr::new(0x40_0000))), drop)?;
/// assert_eq!(space.fault(text, Access::Execute)?.offset, 0);
/// assert_eq!(space.fault(text, Access::Write), Err(FaultError::Access));
///
/// // The middle goes; what is left are two areas of the same object.
/// space.unmap(VirtAddr::new(0x40_1000), 0x1000, drop)?;
/// let offsets: Vec<u64> = space.areas().map(|area| area.offset).collect();
/// assert_eq!(offsets, [0, 0x2000]);
/// let refused = space.unmap(VirtAddr::new(0x40_1001), 0x1000, drop).unwrap_err();
/// assert_eq!(refused.errno(), Errno::Einval);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Space<A: Value, C: Config = Standard, H: Hold = Owned> {
    // What is lent comes before the index, which may hold the lock.
    pub(super) state: H::Of<State>,
    pub(super) index: C::Index<A>,
}

/// What a space knows beside its areas.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) layout: Layout,
    pub(super) grid: Grid,
    pub(super) usage: Usage,
    /// Pages of areas that grow.
    pub(super) growing: u64,
    /// Pages of areas that a fork does not copy.
    pub(super) withheld: u64,
    pub(super) heap: Heap,
}

impl State {
    /// Of an empty space.
    pub(super) fn new(layout: Layout) -> Result<Self, LayoutError> {
        Ok(Self {
            grid: layout.grid()?,
            layout,
            usage: Usage::default(),
            growing: 0,
            withheld: 0,
            heap: Heap::default(),
        })
    }

    /// Notes that `len` pages with these attributes are there.
    pub(super) fn count_in(&mut self, len: u64, attr: Attr) {
        self.usage.add(attr.prot, len);
        if attr.flags.contains(Flags::GROWS_DOWN) {
            self.growing += len;
        }
        if attr.flags.contains(Flags::DONT_COPY) {
            self.withheld += len;
        }
    }

    /// Notes that they are there no more.
    pub(super) fn count_out(&mut self, len: u64, attr: Attr) {
        self.usage.sub(attr.prot, len);
        if attr.flags.contains(Flags::GROWS_DOWN) {
            self.growing -= len;
        }
        if attr.flags.contains(Flags::DONT_COPY) {
            self.withheld -= len;
        }
    }
}

/// The break: where the heap begins and ends, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heap {
    pub(super) start: VirtAddr,
    pub(super) end: VirtAddr,
}

impl<A: Value> Space<A> {
    /// An empty space.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn new(layout: Layout) -> Result<Self, LayoutError> {
        Self::with_config(layout)
    }
}

impl<A: Value, C: Config<Index<A>: Default>> Space<A, C> {
    /// An empty space with any configuration.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn with_config(layout: Layout) -> Result<Self, LayoutError> {
        Ok(Self::over(C::Index::default(), Own(State::new(layout)?)))
    }
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// A space whose areas are in `index`.
    pub(super) fn over(index: C::Index<A>, state: H::Of<State>) -> Self {
        Self { state, index }
    }

    /// Makes sure that the next `changes` changes of the index need no memory: the part of an
    /// operation that may fail for memory, before one that may not. How many an operation makes is
    /// said with each. Of a space under a lock, [`lock_prepared`](super::Shared::lock_prepared)
    /// does so before it takes it.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        self.index.prepare(changes)
    }

    /// The area that has `address`. (Linux's `find_vma` is [`next`](Self::next).)
    ///
    /// # Cost
    /// O(log n).
    #[inline]
    #[must_use]
    #[doc(alias = "vma_lookup")]
    pub fn find(&self, address: VirtAddr) -> Option<Area<'_, A>> {
        let area = self.index.get(self.state.grid.page(address))?;
        Some(self.area(area))
    }

    /// The first area that ends at `address` or behind it.
    ///
    /// # Cost
    /// O(log n).
    #[must_use]
    #[doc(alias = "find_vma")]
    pub fn next(&self, address: VirtAddr) -> Option<Area<'_, A>> {
        let area = self.index.at_or_after(self.state.grid.page(address))?;
        Some(self.area(area))
    }

    /// The areas of which a byte is in `extent`, whole, in ascending order.
    ///
    /// # Cost
    /// O(log n) for the first, O(1) on average for each other.
    pub fn areas_in(&self, extent: Extent<VirtAddr>) -> impl Iterator<Item = Area<'_, A>> {
        let pages = Pages {
            first: self.state.grid.page(extent.start()),
            last: self.state.grid.page(extent.last()),
        };
        self.index.iter(pages).map(|area| self.area(area))
    }

    /// All areas, in ascending order.
    pub fn areas(&self) -> impl Iterator<Item = Area<'_, A>> {
        let all = self.index.iter(Pages::ALL);
        all.map(|area| self.area(area))
    }

    /// How many areas there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// What is mapped, by protection.
    pub fn usage(&self) -> &Usage {
        &self.state.usage
    }

    /// The geometry and the limits.
    pub fn layout(&self) -> &Layout {
        &self.state.layout
    }

    /// What keeps the areas: its counters, its memory.
    pub fn index(&self) -> &C::Index<A> {
        &self.index
    }

    /// Takes everything out, as `exec` does, and hands it to `freed`; the break is gone.
    ///
    /// # Cost
    /// O(n), no memory.
    pub fn clear(&mut self, mut freed: impl FnMut(Freed<A>)) {
        let grid = self.state.grid;
        self.state.heap = Heap::default();
        self.changing(|space| {
            space
                .index
                .clear(|piece| freed(Freed::Unmapped(unmapped(&grid, piece))));
            space.state.usage = Usage::default();
            space.state.growing = 0;
            space.state.withheld = 0;
        });
    }

    /// Takes `pages` out. One change.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub(super) fn cut(
        &mut self,
        pages: Pages,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<(), NoMemory> {
        let state = &mut self.state;
        self.index.erase(pages, |piece| {
            state.count_out(piece.pages.len(), piece.attr);
            freed(Freed::Unmapped(unmapped(&state.grid, piece)));
        })
    }

    #[inline]
    pub(super) fn area<'a>(&self, entry: Entry<'a, A>) -> Area<'a, A> {
        area(&self.state.grid, entry)
    }
}

/// An area of the index as it is seen.
#[inline]
pub(super) fn area<'a, A>(grid: &Grid, entry: Entry<'a, A>) -> Area<'a, A> {
    let Attr {
        prot, may, flags, ..
    } = entry.attr;
    Area {
        extent: grid.extent(entry.pages),
        prot,
        may,
        flags,
        offset: offset(grid, entry.pages, entry.attr),
        value: entry.value,
    }
}

/// Where in its object a stretch begins, in bytes.
#[inline]
fn offset(grid: &Grid, pages: Pages, attr: Attr) -> u64 {
    pages.first.wrapping_add(attr.origin) << grid.shift
}

/// What is handed back of a piece.
pub(super) fn unmapped<A>(grid: &Grid, piece: Piece<A>) -> Unmapped<A> {
    Unmapped {
        extent: grid.extent(piece.pages),
        prot: piece.attr.prot,
        flags: piece.attr.flags,
        offset: offset(grid, piece.pages, piece.attr),
        value: piece.value,
    }
}

impl<A: Value + fmt::Debug, C: Config, H: Hold> fmt::Debug for Space<A, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.areas()).finish()
    }
}
