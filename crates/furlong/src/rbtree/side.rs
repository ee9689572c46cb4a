//! Left and right, so that each case of the algorithm is written once.

use core::ops::Not;

/// One side of a node. `!side` is the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Side {
    /// The side of the smaller keys.
    Left = 0,
    /// The side of the greater keys.
    Right = 1,
}

impl Side {
    /// Both sides, for loops.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// `Right` if `right`, without a branch.
    #[inline(always)]
    #[must_use]
    pub const fn right_if(right: bool) -> Self {
        if right { Self::Right } else { Self::Left }
    }

    /// 0 for `Left`, 1 for `Right`: an index into a pair.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Not for Side {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}
