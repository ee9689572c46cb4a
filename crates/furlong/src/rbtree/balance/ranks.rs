//! Rank differences of a node: the balance of the tree, two bits per node.

use crate::rbtree::Side;

/// The sides of a node on which the child's rank is less by two instead of by one. A missing child
/// has rank -1, a leaf rank 0, and every difference is one or two.
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
        Self(if long { Self::bit(side) } else { 0 })
    }

    /// Returns true if the difference on `side` is two.
    #[inline(always)]
    #[must_use]
    pub const fn is_long(self, side: Side) -> bool {
        self.0 & Self::bit(side) != 0
    }

    /// The same with the difference on `side` set to one (`false`) or two (`true`).
    #[inline(always)]
    #[must_use]
    pub const fn with(self, side: Side, long: bool) -> Self {
        Self(self.0 & (Self::LONG.0 - Self::bit(side)) | Self::on(side, long).0)
    }

    /// The effect on a node when its child on `side` loses a rank; `is_leaf` if the node has become
    /// a leaf by that.
    ///
    /// It is a table look-up instead of branches: no branch of a removal is harder to predict.
    #[inline(always)]
    #[must_use]
    pub(super) const fn after_loss(self, side: Side, is_leaf: bool) -> AfterLoss {
        let case = self.0 | (side as u8) << 2 | (is_leaf as u8) << 3;
        AfterLoss((AFTER_LOSS >> (4 * case)) as u8)
    }

    /// 1 for the left side and 2 for the right one.
    #[inline(always)]
    const fn bit(side: Side) -> u8 {
        side as u8 + 1
    }
}

/// Effect on a node of the loss of a rank below it, see [`Ranks::after_loss`].
#[derive(Clone, Copy, Debug)]
pub(super) struct AfterLoss(u8);

impl AfterLoss {
    /// The node keeps its rank.
    const KEEPS: u8 = 1 << 2;
    /// The child is three below, its sibling one below.
    const LEANS: u8 = 2 << 2;

    /// The node's new differences.
    #[inline(always)]
    pub(crate) const fn ranks(self) -> Ranks {
        Ranks(self.0 & Ranks::LONG.0)
    }

    /// True if the node keeps its rank: nothing changes above it.
    #[inline(always)]
    pub(super) const fn keeps(self) -> bool {
        self.0 & Self::KEEPS != 0
    }

    /// True if the child is three below, and its sibling one: the sibling decides.
    #[inline(always)]
    pub(super) const fn leans(self) -> bool {
        self.0 & Self::LEANS != 0
    }
}

/// The sixteen results of [`Ranks::after_loss`], four bits each.
const AFTER_LOSS: u64 = {
    let mut answers = 0;
    let mut case = 0;
    while case < 16 {
        let ranks = Ranks(case & 3);
        let is_leaf = case >> 3 == 1;
        let (side, other) = match case >> 2 & 1 {
            0 => (Side::Left, Side::Right),
            _ => (Side::Right, Side::Left),
        };
        let answer = match (ranks.is_long(side), ranks.is_long(other)) {
            // A leaf has rank 0.
            (false, true) if is_leaf => Ranks::SHORT.0,
            (false, _) => ranks.with(side, true).0 | AfterLoss::KEEPS,
            (true, true) => Ranks::on(side, true).0,
            (true, false) => ranks.0 | AfterLoss::LEANS,
        };
        answers |= (answer as u64) << (4 * case);
        case += 1;
    }
    answers
};
