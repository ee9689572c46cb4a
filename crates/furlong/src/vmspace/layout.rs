//! Where a space begins and ends, where it is searched, and its limits.
#![forbid(unsafe_code)]

use super::{LayoutError, Pages};
use crate::addr::{Address, Extent, VirtAddr};

/// From where a place is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From [`top`](Layout::top) downwards; where that fails, from [`bottom`](Layout::bottom)
    /// upwards.
    TopDown,
    /// From [`bottom`](Layout::bottom) upwards.
    BottomUp,
}

/// The geometry of a space, and its limits. Addresses are in bytes, `last` and `top` inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Bytes of a page, a power of two, at least two.
    pub page: u64,
    /// The last byte of the space.
    pub last: VirtAddr,
    /// Nothing is mapped below.
    pub low: VirtAddr,
    /// Where a search from below begins.
    pub bottom: VirtAddr,
    /// The last byte that a search from above may take.
    pub top: VirtAddr,
    /// From where a place is searched for.
    pub direction: Direction,
    /// Pages that other areas keep from the lower end of one that grows.
    pub guard: u64,
    /// Areas from which on none is cut any more; mapping may make one more of them, as in Linux.
    pub areas_max: usize,
    /// Pages that may be mapped.
    pub pages_max: u64,
    /// Pages that an area may have by growing.
    pub stack_max: u64,
}

impl Layout {
    /// As a process on x86-64 under Linux has it, without randomisation and without limits but for
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

    /// The addresses of `MAP_32BIT`: [`Request::window`](super::Request::window).
    pub const LINUX_32BIT: (VirtAddr, VirtAddr) =
        (VirtAddr::new(0x4000_0000), VirtAddr::new(0x7fff_ffff));

    /// The layout in pages.
    pub(super) fn grid(&self) -> Result<Grid, LayoutError> {
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
pub(super) struct Grid {
    /// log2 of the bytes of a page.
    pub(super) shift: u32,
    /// The last page of the space.
    pub(super) last: u64,
    /// The first one that may be mapped.
    pub(super) low: u64,
    /// Where a search from above looks.
    pub(super) down: Option<Pages>,
    /// Where a search from below looks.
    pub(super) up: Option<Pages>,
}

impl Grid {
    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.shift) - 1
    }

    #[inline]
    pub(super) fn is_aligned(&self, address: VirtAddr) -> bool {
        address.raw() & self.mask() == 0
    }

    #[inline]
    pub(super) fn page(&self, address: VirtAddr) -> u64 {
        address.raw() >> self.shift
    }

    /// The pages that hold `len` bytes from the beginning of a page on.
    pub(super) fn count(&self, len: u64) -> u64 {
        (len >> self.shift) + u64::from(len & self.mask() != 0)
    }

    #[inline]
    pub(super) fn address(&self, page: u64) -> VirtAddr {
        VirtAddr::new(page << self.shift)
    }

    #[inline]
    pub(super) fn extent(&self, pages: Pages) -> Extent<VirtAddr> {
        let last = pages.last << self.shift | self.mask();
        Extent::in_order(self.address(pages.first), VirtAddr::new(last))
    }

    /// `len` pages from `first`, if they are in the space.
    pub(super) fn within(&self, first: u64, len: u64) -> Option<Pages> {
        Pages::of_len(first, len).filter(|pages| pages.last <= self.last)
    }
}
