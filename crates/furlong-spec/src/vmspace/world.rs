//! Small spaces: a few pages anywhere in the 64-bit range.

use furlong::addr::VirtAddr;
use furlong::vmspace::{Direction, Layout};

/// A few pages that may be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// The first page that may be mapped.
    pub first: u64,
    /// The number of pages.
    pub pages: u64,
    /// Bytes in a page.
    pub page: u64,
    /// The direction of a search.
    pub direction: Direction,
    /// Pages kept free below an area that grows.
    pub guard: u64,
    /// The maximum number of areas.
    pub areas_max: usize,
    /// The maximum number of mapped pages.
    pub pages_max: u64,
    /// True if these are the free pages in the middle of a larger space. Searches then cover all of
    /// them.
    pub is_inner: bool,
}

impl World {
    /// `pages` pages of 4 KiB from address 0 on, searched from above, without limits.
    #[must_use]
    pub const fn low(pages: u64) -> Self {
        Self {
            first: 0,
            pages,
            page: 4096,
            direction: Direction::TopDown,
            guard: 2,
            areas_max: usize::MAX >> 1,
            pages_max: u64::MAX,
            is_inner: false,
        }
    }

    /// `pages` pages of `page` bytes at the end of the 64-bit range.
    #[must_use]
    pub const fn high(pages: u64, page: u64) -> Self {
        let first = (u64::MAX >> page.trailing_zeros()) - (pages - 1);
        Self {
            first,
            page,
            ..Self::low(pages)
        }
    }

    /// The same world with limits on areas and pages.
    #[must_use]
    pub const fn limits(self, areas_max: usize, pages_max: u64) -> Self {
        Self {
            areas_max,
            pages_max,
            ..self
        }
    }

    /// The same world, searched from below.
    #[must_use]
    pub const fn upwards(self) -> Self {
        Self {
            direction: Direction::BottomUp,
            ..self
        }
    }

    /// The last page.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.first + (self.pages - 1)
    }

    /// The first address of a page.
    #[must_use]
    pub const fn address(&self, page: u64) -> VirtAddr {
        VirtAddr::new(page.wrapping_mul(self.page))
    }

    /// The first page of a search from below: after a third of the pages, or the first page of all.
    #[must_use]
    pub const fn bottom(&self) -> u64 {
        let below = if self.is_inner { 0 } else { self.pages / 3 };
        self.first + below
    }

    /// The first page of a search from above: below the last eighth, or the last page of all.
    #[must_use]
    pub const fn top(&self) -> u64 {
        let above = if self.is_inner { 0 } else { self.pages / 8 };
        self.last() - above
    }

    /// The maximum number of pages in a stack.
    #[must_use]
    pub const fn stack_max(&self) -> u64 {
        self.pages / 2
    }

    /// The layout of a space with these pages.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        Layout {
            page: self.page,
            last: VirtAddr::new((self.last() * self.page) | (self.page - 1)),
            low: self.address(self.first),
            bottom: self.address(self.bottom()),
            top: VirtAddr::new((self.top() * self.page) | (self.page - 1)),
            direction: self.direction,
            guard: self.guard,
            areas_max: self.areas_max,
            pages_max: self.pages_max,
            stack_max: self.stack_max(),
        }
    }
}

/// Worlds at both ends of the 64-bit range and in its middle, with limits and without.
pub const WORLDS: [World; 8] = [
    World::low(40),
    World::low(24).upwards(),
    World::low(64).limits(9, 40),
    World::high(40, 4096),
    World::high(24, 2).upwards(),
    World::high(48, 1 << 16).limits(12, 30),
    World {
        first: 0x10,
        ..World::low(48)
    },
    World {
        first: 0x7_0000,
        guard: 5,
        ..World::low(100).limits(20, u64::MAX)
    },
];
