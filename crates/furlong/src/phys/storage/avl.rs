//! The balance of a search tree whose links are kept elsewhere. The heights of siblings differ by
//! at most one (G. M. Adelson-Velsky, E. M. Landis, 1962). So a tree of n items is at most
//! 1.45 log2(n + 2) high. The recursion is as deep as the tree is high.
#![forbid(unsafe_code)]

/// The side of items that come before.
pub(crate) const LOW: usize = 0;
/// The side of items that come after.
pub(crate) const HIGH: usize = 1;

/// The links of a tree's items.
pub(crate) trait Avl {
    /// A reference to an item.
    type At: Copy + PartialEq;

    /// True if an item's summary depends on those below it. If not, a change goes up only as far as
    /// heights change.
    const HAS_SUMMARY: bool;

    /// The child of an item on one side.
    fn side(&self, at: Self::At, side: usize) -> Option<Self::At>;

    /// The height of an item's subtree, from 1 on.
    fn height(&self, at: Self::At) -> u8;

    /// Sets both children of an item and the height of its subtree, and updates its summary.
    fn set(&mut self, at: Self::At, sides: [Option<Self::At>; 2], height: u8);

    /// True if `at` comes after `other`.
    fn is_after(&self, at: Self::At, other: Self::At) -> bool;

    /// The subtree of `top` with one more item.
    fn with(&mut self, top: Option<Self::At>, item: Self::At) -> Self::At {
        let Some(top) = top else {
            self.link(item, [None; 2]);
            return item;
        };
        let side = usize::from(self.is_after(item, top));
        let old = self.side(top, side);
        let old_height = self.height_of(old);
        let new = self.with(old, item);
        if !Self::HAS_SUMMARY && old == Some(new) && old_height == self.height(new) {
            return top;
        }
        self.set_side(top, side, Some(new));
        self.balanced(top)
    }

    /// The subtree of `top` without an item; unchanged if the item is not there.
    fn without(&mut self, top: Option<Self::At>, item: Self::At) -> Option<Self::At> {
        let top = top?;
        if top == item {
            let Some(high) = self.side(top, HIGH) else {
                return self.side(top, LOW);
            };
            let low = self.side(top, LOW);
            let (first, rest) = self.split_first(high);
            self.link(first, [low, rest]);
            return Some(self.balanced(first));
        }
        let side = usize::from(self.is_after(item, top));
        let old = self.side(top, side);
        let old_height = self.height_of(old);
        let new = self.without(old, item);
        if !Self::HAS_SUMMARY && old == new && old_height == self.height_of(new) {
            return Some(top);
        }
        self.set_side(top, side, new);
        Some(self.balanced(top))
    }

    /// Updates the summaries from an item of the subtree up to its `top`.
    fn refresh(&mut self, top: Self::At, item: Self::At) {
        let side = usize::from(self.is_after(item, top));
        if let Some(below) = self.side(top, side).filter(|_| top != item) {
            self.refresh(below, item);
        }
        self.set_side(top, side, self.side(top, side));
    }

    /// The first item of a subtree, and the subtree without it.
    fn split_first(&mut self, top: Self::At) -> (Self::At, Option<Self::At>) {
        let Some(low) = self.side(top, LOW) else {
            return (top, self.side(top, HIGH));
        };
        let (first, rest) = self.split_first(low);
        self.set_side(top, LOW, rest);
        (first, Some(self.balanced(top)))
    }

    /// The subtree of `top`, one side of which may have become two higher than the other.
    fn balanced(&mut self, top: Self::At) -> Self::At {
        let heights = [LOW, HIGH].map(|side| self.height_of(self.side(top, side)));
        let side = usize::from(heights[HIGH] > heights[LOW]);
        let Some(near) = self.side(top, side) else {
            return top;
        };
        if heights[side] <= heights[1 - side] + 1 {
            return top;
        }
        let inner = self.side(near, 1 - side);
        if self.height_of(inner) > self.height_of(self.side(near, side)) {
            let lifted = self.rotated(near, 1 - side);
            self.set_side(top, side, Some(lifted));
        }
        self.rotated(top, side)
    }

    /// The subtree of `top`, rotated: its child on `side` is at the top.
    fn rotated(&mut self, top: Self::At, side: usize) -> Self::At {
        let Some(up) = self.side(top, side) else {
            return top;
        };
        self.set_side(top, side, self.side(up, 1 - side));
        self.set_side(up, 1 - side, Some(top));
        up
    }

    fn set_side(&mut self, at: Self::At, side: usize, below: Option<Self::At>) {
        let mut sides = [LOW, HIGH].map(|side| self.side(at, side));
        sides[side] = below;
        self.link(at, sides);
    }

    fn link(&mut self, at: Self::At, sides: [Option<Self::At>; 2]) {
        let [low, high] = sides.map(|side| self.height_of(side));
        self.set(at, sides, 1 + low.max(high));
    }

    fn height_of(&self, at: Option<Self::At>) -> u8 {
        at.map_or(0, |at| self.height(at))
    }
}
