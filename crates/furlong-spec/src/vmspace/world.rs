//! Small spaces: a few pages somewhere in 64 bits.
#![forbid(unsafe_code)]

use furlong::addr::VirtAddr;
use furlong::vmspace::{Direction, Layout};

/// A few pages that may be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// The first page that may be mapped.
    pub first: u64,
    /// How many.
    pub pages: u64,
    /// Bytes of a page.
    pub page: u64,
    /// From where a place is searched for.
    pub direction: Direction,
    /// Pages kept free below what grows.
    pub guard: u64,
    /// The limit of areas.
    pub areas_max: usize,
    /// The limit of pages.
    pub pages_max: u64,
    /// Whether these are the free pages in the middle of a larger space: a search sees all of them.
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

    /// `pages` pages of so many bytes that end with 64 bits.
    #[must_use]
    pub const fn high(pages: u64, page: u64) -> Self {
        let first = (u64::MAX >> page.trailing_zeros()) - (pages - 1);
        Self {
            first,
            page,
            ..Self::low(pages)
        }
    }

    /// With limits to areas and pages.
    #[must_use]
    pub const fn limits(self, areas_max: usize, pages_max: u64) -> Self {
        Self {
            areas_max,
            pages_max,
            ..self
        }
    }

    /// Searched from below.
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

    /// The first byte of a page.
    #[must_use]
    pub const fn address(&self, page: u64) -> VirtAddr {
        VirtAddr::new(page.wrapping_mul(self.page))
    }

    /// Where a search from below begins: a third of the way up, or where the pages begin.
    #[must_use]
    pub const fn bottom(&self) -> u64 {
        let below = if self.is_inner { 0 } else { self.pages / 3 };
        self.first + below
    }

    /// Where a search from above begins: below the last eighth, or where the pages end.
    #[must_use]
    pub const fn top(&self) -> u64 {
        let above = if self.is_inner { 0 } else { self.pages / 8 };
        self.last() - above
    }

    /// Pages that a stack may have.
    #[must_use]
    pub const fn stack_max(&self) -> u64 {
        self.pages / 2
    }

    /// The layout of a space that is this world.
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

/// Worlds at both ends of 64 bits and in the middle, with limits and without.
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
