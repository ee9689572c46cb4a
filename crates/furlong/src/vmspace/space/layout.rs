//! The bounds of a space, its search windows, and its limits.

use crate::addr::{Address, Extent, VirtAddr};
use crate::vmspace::{LayoutError, Pages};

/// The direction of the search for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From [`top`](Layout::top) downwards; if that fails, from [`bottom`](Layout::bottom) upwards.
    TopDown,
    /// From [`bottom`](Layout::bottom) upwards.
    BottomUp,
}

/// The geometry of a space, and its limits. Addresses are in bytes, `last` and `top` inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The page size in bytes: a power of two, at least 2.
    pub page: u64,
    /// The last byte of the space.
    pub last: VirtAddr,
    /// The lowest address that may be mapped.
    pub low: VirtAddr,
    /// The start of an upward search.
    pub bottom: VirtAddr,
    /// The last byte that a downward search may take.
    pub top: VirtAddr,
    /// The direction of the search for a place.
    pub direction: Direction,
    /// The pages that must stay free below the lower end of an area that grows.
    pub guard: u64,
    /// The number of areas at which none is cut any more. A mapping may make one more, as in Linux.
    pub areas_max: usize,
    /// The largest number of mapped pages.
    pub pages_max: u64,
    /// The largest number of pages that an area may reach by growing.
    pub stack_max: u64,
}

impl Layout {
    /// The layout of a process on x86-64 under Linux, without randomisation. The only limits are
    /// the number of areas and an 8 MiB stack.
    pub const LINUX_X86_64: Self = Self {
        page: 4096,
        last: VirtAddr::new(0x7fff_ffff_efff),
        low: VirtAddr::new(0x1_0000),
        bottom: VirtAddr::new(0x2aaa_aaaa_a000),
        top: VirtAddr::new(0x7fff_f7ff_efff),
        direction: Direction::TopDown,
        guard: 256,
        areas_max: 65_530,
        pages_max: u64::MAX,
        stack_max: 2048,
    };

    /// The addresses of `MAP_32BIT`, for [`Request::window`](crate::vmspace::Request::window).
    pub const LINUX_32BIT: (VirtAddr, VirtAddr) =
        (VirtAddr::new(0x4000_0000), VirtAddr::new(0x7fff_ffff));

    /// The layout in pages.
    pub(crate) fn grid(&self) -> Result<Grid, LayoutError> {
        if !self.page.is_power_of_two() || self.page < 2 {
            return Err(LayoutError::Page);
        }
        let shift = self.page.trailing_zeros();
        let starts = [self.low, self.bottom].map(|at| at.is_aligned(self.page));
        let ends = [self.last, self.top].map(|at| !at.raw() & (self.page - 1) == 0);
        let is_ordered = self.low <= self.last && self.top <= self.last;
        if starts != [true; 2] || ends != [true; 2] || !is_ordered {
            return Err(LayoutError::Ragged);
        }
        let last = self.last.raw() >> shift;
        Ok(Grid {
            shift,
            last,
            low: self.low.raw() >> shift,
            down: Pages::new(self.low.raw() >> shift, self.top.raw() >> shift),
            up: Pages::new(self.bottom.max(self.low).raw() >> shift, last),
        })
    }
}

/// A layout in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// log2 of the page size in bytes.
    pub(crate) shift: u32,
    /// The last page of the space.
    pub(crate) last: u64,
    /// The lowest page that may be mapped.
    pub(crate) low: u64,
    /// The window of a downward search.
    pub(crate) down: Option<Pages>,
    /// The window of an upward search.
    pub(crate) up: Option<Pages>,
}

impl Grid {
    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.shift) - 1
    }

    #[inline]
    pub(crate) fn is_aligned(&self, address: VirtAddr) -> bool {
        address.raw() & self.mask() == 0
    }

    #[inline]
    pub(crate) fn page(&self, address: VirtAddr) -> u64 {
        address.raw() >> self.shift
    }

    /// The number of pages that hold `len` bytes from the start of a page.
    pub(crate) fn count(&self, len: u64) -> u64 {
        (len >> self.shift) + u64::from(len & self.mask() != 0)
    }

    #[inline]
    pub(crate) fn address(&self, page: u64) -> VirtAddr {
        VirtAddr::new(page << self.shift)
    }

    #[inline]
    pub(crate) fn extent(&self, pages: Pages) -> Extent<VirtAddr> {
        let last = pages.last << self.shift | self.mask();
        Extent::in_order(self.address(pages.first), VirtAddr::new(last))
    }

    /// `len` pages from `first`, if they are in the space.
    pub(crate) fn within(&self, first: u64, len: u64) -> Option<Pages> {
        Pages::of_len(first, len).filter(|pages| pages.last <= self.last)
    }
}
