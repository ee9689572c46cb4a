//! Rank differences of a node: the balance of the tree, two bits a node.
#![forbid(unsafe_code)]

use super::Side;

/// On which sides of a node the child's rank is less by two, and not by one. A missing child has
/// rank -1, a leaf rank 0, and no difference is anything but one or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ranks(u8);

impl Ranks {
    /// One on both sides: a leaf, for example.
    pub const SHORT: Self = Self(0);
    /// Two on both sides.
    pub const LONG: Self = Self(3);

    /// Two on `side` if `long`, and one on the other side.
    #[inline(always)]
    #[must_use]
    pub const fn on(side: Side, long: bool) -> Self {
        Self((long as u8) << side.index())
    }

    /// Whether the difference on `side` is two.
    #[inline(always)]
    #[must_use]
    pub const fn is_long(self, side: Side) -> bool {
        self.0 & 1 << side.index() != 0
    }

    /// The same with the difference on `side` one (`false`) or two (`true`).
    #[inline(always)]
    #[must_use]
    pub const fn with(self, side: Side, long: bool) -> Self {
        Self(self.0 & !(1 << side.index()) | (long as u8) << side.index())
    }
}
