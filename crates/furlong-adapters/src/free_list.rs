//! `free_list::FreeList`, an allocator of pages and frames, over a space of device addresses.
//!
//! Calls, ranges and layouts are those of that crate. Its users change one line:
//!
//! ```
//! use free_list::PageLayout;
//! use furlong_adapters::free_list::FreeList;
//!
//! let mut frames = FreeList::new();
//! frames.deallocate((0x1000..0x5000).try_into().unwrap())?;
//! let layout = PageLayout::from_size(0x4000).unwrap();
//! assert_eq!(frames.allocate(layout)?, (0x1000..0x5000).try_into().unwrap());
//! assert_eq!(frames.free_space(), 0);
//! # Ok::<(), furlong_adapters::free_list::AllocError>(())
//! ```
//!
//! # Differences
//! - Allocation and release take O(log n). Only an allocation whose alignment is above a page and
//!   not its size may take O(n). The original walks all free ranges, and moves those behind a
//!   change.
//! - This list stores the allocated ranges, not the free ones. Each range allocated in one piece
//!   takes a node of 64 bytes on the heap. There is no inline array of `N` ranges, and `new` is not
//!   `const`.
//! - `deallocate` is not unsafe: ranges are numbers, and code that turns them into memory is
//!   responsible.
//! - A call without memory for a node returns an error, and nothing has changed. The original
//!   panics.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use free_list::{PAGE_SIZE, PageLayout, PageRange};
use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Lowest, Request, VecSpace};

/// A set of free pages, from which ranges are allocated.
#[derive(Debug)]
pub struct FreeList {
    /// The space; every range that is not free is reserved in it.
    space: VecSpace,
}

/// The requested range is not free, the freed range is already free, or there is no memory for a
/// node; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such range of pages is there")
    }
}

impl Error for AllocError {}

/// The last address that a range can contain. The last page of all has no end address.
const LAST: u64 = (usize::MAX - PAGE_SIZE) as u64;

impl FreeList {
    /// A list without a free page.
    ///
    /// # Panics
    /// If there is no memory for a node.
    #[must_use]
    pub fn new() -> Self {
        let all = Extent::from_last(Iova::new(0), Iova::new(LAST)).expect("there are pages");
        let space = VecSpace::new(all, PAGE_SIZE as u64, Vec::new());
        let mut space = space.expect("all but the last page are whole pages");
        // They are freed by their range, so the grant is not kept.
        let filled = space.fill(all, drop);
        filled.expect("there is memory for a node");
        Self { space }
    }

    /// Frees pages, even if they were allocated separately. Adds pages that are new to the list.
    ///
    /// # Errors
    /// [`AllocError`], also if one of the pages is free.
    ///
    /// # Cost
    /// O(log n) for each range that was allocated in one piece.
    pub fn deallocate(&mut self, range: PageRange) -> Result<(), AllocError> {
        let range = extent(range);
        if self.space.free_in(range).next().is_some() {
            return Err(AllocError);
        }
        let released = self.space.release_range(range, drop);
        released.map(drop).map_err(|_| AllocError)
    }

    /// Allocates the lowest pages that satisfy the layout.
    ///
    /// # Errors
    /// [`AllocError`].
    ///
    /// # Cost
    /// O(log n); O(n) for an alignment above a page and other than the size.
    pub fn allocate(&mut self, layout: PageLayout) -> Result<PageRange, AllocError> {
        self.reserve(&request(layout), layout.size())
    }

    /// The same, outside of `range`.
    ///
    /// # Errors
    /// [`AllocError`].
    ///
    /// # Cost
    /// O(log n); O(n) for an alignment above a page and other than the size.
    pub fn allocate_outside_of(
        &mut self,
        layout: PageLayout,
        range: PageRange,
    ) -> Result<PageRange, AllocError> {
        let below = range.start().checked_sub(1).map(|last| (0, last as u64));
        let above = Some((range.end() as u64, LAST)).filter(|(low, high)| low <= high);
        let windows = below.into_iter().chain(above);
        let within = |(low, high)| request(layout).window(Iova::new(low), Iova::new(high));
        windows
            .map(within)
            .find_map(|request| self.reserve(&request, layout.size()).ok())
            .ok_or(AllocError)
    }

    /// Allocates exactly these pages.
    ///
    /// # Errors
    /// [`AllocError`].
    ///
    /// # Cost
    /// O(log n).
    pub fn allocate_at(&mut self, range: PageRange) -> Result<(), AllocError> {
        let reserved = self.space.reserve_at(extent(range));
        reserved.map(drop).map_err(|_| AllocError)
    }

    /// Lets `f` choose pages in each free range in ascending order, and allocates its first choice.
    ///
    /// # Errors
    /// [`AllocError`].
    ///
    /// # Panics
    /// If the choice exceeds that free range.
    ///
    /// # Cost
    /// O(n) for n free ranges.
    pub fn allocate_with<F>(&mut self, f: F) -> Result<PageRange, AllocError>
    where
        F: FnMut(PageRange) -> Option<PageRange>,
    {
        let mut f = f;
        let chosen = self.iter().find_map(|free| Some((free, f(free)?)));
        let (free, chosen) = chosen.ok_or(AllocError)?;
        assert!(free.contains(chosen), "{chosen} is not in {free}");
        self.allocate_at(chosen)?;
        Ok(chosen)
    }

    /// The free ranges, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PageRange> + '_ {
        self.space.free().map(|free| {
            let start = free.start().raw() as usize;
            let range = PageRange::from_start_len(start, (free.last().raw() + 1) as usize - start);
            range.expect("a gap has whole pages, and ends before the last one")
        })
    }

    /// The number of free bytes.
    ///
    /// # Cost
    /// O(n) for n free ranges.
    #[must_use]
    pub fn free_space(&self) -> usize {
        self.iter().map(|free| free.len().get()).sum()
    }

    fn reserve(&mut self, request: &Request, size: usize) -> Result<PageRange, AllocError> {
        let grant = self.space.reserve(request, Lowest).map_err(drop);
        let start = grant.map_err(|()| AllocError)?.iova().raw() as usize;
        PageRange::from_start_len(start, size).map_err(|_| AllocError)
    }
}

impl Default for FreeList {
    fn default() -> Self {
        Self::new()
    }
}

fn request(layout: PageLayout) -> Request {
    Request::new(layout.size() as u64).align(layout.align() as u64)
}

fn extent(range: PageRange) -> Extent<Iova> {
    let ends = (range.start() as u64, range.end() as u64);
    let extent = Extent::from_end(Iova::new(ends.0), Iova::new(ends.1));
    extent.expect("a range of pages is not empty")
}
