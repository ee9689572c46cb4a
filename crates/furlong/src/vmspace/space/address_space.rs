//! The space: its areas and their look-up.

use core::fmt;

use super::layout::Grid;
use crate::addr::{Extent, VirtAddr};
use crate::forms::debug_as;
use crate::vmspace::{
    Area, Attr, Config, Entry, Flags, Freed, Hold, Index, Layout, LayoutError, NoMemory, Own,
    Owned, Pages, Piece, Standard, Unmapped, Usage, Value,
};

/// The areas of one address space, each with a value of the caller.
///
/// The space manages no page tables, files or processes: it reports every mapping, change and
/// unmapping, and the caller acts on it. It is changed through `&mut self`, without a lock. It
/// refuses the same calls as Linux, with the same numbers: call `errno` on an error, or convert it
/// to [`Errno`](crate::vmspace::Errno) by `?`.
///
/// The configuration selects the index: the B-tree of ranges in [`Standard`], a red-black tree in
/// [`Custom`](crate::vmspace::Custom)`<`[`Rbtree`](crate::vmspace::Rbtree)`>`.
///
/// # Panics
/// If the caller's code panics during an operation (`freed`, `copy`, a [`Value`] or its drop), the
/// space stays valid. Each index change is either made or not. Removed values that were not handed
/// out yet are dropped. Pages that were to be replaced, or merged with a neighbour, may be
/// unmapped.
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
/// // Unmap the middle: two areas of the same object remain.
/// space.unmap(VirtAddr::new(0x40_1000), 0x1000, drop)?;
/// let offsets: Vec<u64> = space.areas().map(|area| area.offset).collect();
/// assert_eq!(offsets, [0, 0x2000]);
/// let refused = space.unmap(VirtAddr::new(0x40_1001), 0x1000, drop).unwrap_err();
/// assert_eq!(refused.errno(), Errno::Einval);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Space<A: Value, C: Config = Standard, H: Hold = Owned> {
    // The lent state is dropped before the index, which may hold the lock.
    pub(crate) state: H::Of<State>,
    pub(crate) index: C::Index<A>,
}

/// The state of a space other than its areas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) layout: Layout,
    pub(crate) grid: Grid,
    pub(crate) usage: Usage,
    /// The number of pages in areas that grow.
    pub(crate) growing: u64,
    /// The number of pages in areas that a fork does not copy.
    pub(crate) withheld: u64,
    pub(crate) heap: Heap,
}

impl State {
    /// The state of an empty space.
    pub(crate) fn new(layout: Layout) -> Result<Self, LayoutError> {
        Ok(Self {
            grid: layout.grid()?,
            layout,
            usage: Usage::default(),
            growing: 0,
            withheld: 0,
            heap: Heap::default(),
        })
    }

    /// Counts `len` new pages with these attributes.
    pub(crate) fn count_in(&mut self, len: u64, attr: Attr) {
        self.usage.add(attr.prot(), len);
        if attr.flags().contains(Flags::GROWS_DOWN) {
            self.growing += len;
        }
        if attr.flags().contains(Flags::DONT_COPY) {
            self.withheld += len;
        }
    }

    /// Counts `len` removed pages with these attributes.
    pub(crate) fn count_out(&mut self, len: u64, attr: Attr) {
        self.usage.sub(attr.prot(), len);
        if attr.flags().contains(Flags::GROWS_DOWN) {
            self.growing -= len;
        }
        if attr.flags().contains(Flags::DONT_COPY) {
            self.withheld -= len;
        }
    }
}

/// The heap: its start, and its end (the break), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    pub(crate) start: VirtAddr,
    pub(crate) end: VirtAddr,
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
    /// A space with its areas in `index`.
    pub(crate) fn over(index: C::Index<A>, state: H::Of<State>) -> Self {
        Self { state, index }
    }

    /// Reserves memory, so that the next `changes` index changes need none. This separates the part
    /// that may fail from a later operation that may not. Each operation documents its number of
    /// changes. For a space under a lock, [`lock_prepared`](crate::vmspace::Shared::lock_prepared)
    /// does this before it takes the lock.
    ///
    /// # Errors
    /// [`NoMemory`]; what was obtained so far is kept.
    pub fn prepare(&mut self, changes: usize) -> Result<(), NoMemory> {
        self.index.prepare(changes)
    }

    /// Frees memory that is reserved and not in use, as far as the index can. In a space under a
    /// lock, this frees it under the lock.
    ///
    /// # Cost
    /// O(reserved nodes), and for one owner a copy of the records: an allocation, without which
    /// they keep their memory.
    pub fn trim(&mut self) {
        self.index.trim();
    }

    /// The area that contains `address`. (Linux's `find_vma` is [`next`](Self::next).)
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

    /// The areas with a byte in `extent`, whole, in ascending order.
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

    /// The number of areas.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True if nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The number of mapped pages, by protection.
    pub fn usage(&self) -> &Usage {
        &self.state.usage
    }

    /// The geometry and the limits.
    pub fn layout(&self) -> &Layout {
        &self.state.layout
    }

    /// The index of areas, with its counters and memory.
    pub fn index(&self) -> &C::Index<A> {
        &self.index
    }

    /// Removes all areas, as `exec` does, and passes them to `freed`; the break is reset.
    ///
    /// # Cost
    /// O(n), without memory.
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

    /// Removes `pages`. One index change.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    pub(crate) fn cut(
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
    pub(crate) fn area<'a>(&self, entry: Entry<'a, A>) -> Area<'a, A> {
        area(&self.state.grid, entry)
    }
}

/// The view of an entry of the index.
#[inline]
pub(crate) fn area<'a, A>(grid: &Grid, entry: Entry<'a, A>) -> Area<'a, A> {
    Area {
        extent: grid.extent(entry.pages),
        prot: entry.attr.prot(),
        may: entry.attr.may(),
        flags: entry.attr.flags(),
        offset: offset(grid, entry.pages, entry.attr),
        value: entry.value,
    }
}

/// The offset of the start of `pages` in their object, in bytes.
#[inline]
fn offset(grid: &Grid, pages: Pages, attr: Attr) -> u64 {
    pages.first.wrapping_add(attr.origin) << grid.shift
}

/// Converts a removed piece for the caller.
pub(crate) fn unmapped<A>(grid: &Grid, piece: Piece<A>) -> Unmapped<A> {
    Unmapped {
        extent: grid.extent(piece.pages),
        prot: piece.attr.prot(),
        flags: piece.attr.flags(),
        offset: offset(grid, piece.pages, piece.attr),
        value: piece.value,
    }
}

debug_as! { Space<A, C, H> where [A: Value + fmt::Debug, C: Config, H: Hold]: |it| [it.areas()] }
