//! Gap search. Its results stay true only while the caller holds the lock.

use crate::addr::{Address, Extent};
use crate::maple::{Counters, Event, Geometry, Leaf, Node, Ptr, Tree, extent};

/// A size, an alignment, and a window, both ends inclusive.
#[derive(Clone, Copy, Debug)]
struct Wanted<L> {
    size: u64,
    align: L,
    lo: u64,
    hi: u64,
}

/// The indices at which a place may start.
pub(crate) trait Align: Copy {
    /// The first of them from `first` to `last`, which are in order.
    fn lowest(self, first: u64, last: u64) -> Option<u64>;
    /// The last of them.
    fn highest(self, first: u64, last: u64) -> Option<u64>;
}

/// Any index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anywhere;

impl Align for Anywhere {
    #[inline(always)]
    fn lowest(self, first: u64, _: u64) -> Option<u64> {
        Some(first)
    }

    #[inline(always)]
    fn highest(self, _: u64, last: u64) -> Option<u64> {
        Some(last)
    }
}

/// The multiples of a power of two, which is stored less one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiple(u64);

impl Multiple {
    /// `None` if it is not a power of two.
    pub(crate) fn new(align: u64) -> Option<Self> {
        align.is_power_of_two().then(|| Self(align - 1))
    }
}

impl Align for Multiple {
    fn lowest(self, first: u64, last: u64) -> Option<u64> {
        let start = first.checked_add(self.0)? & !self.0;
        (start <= last).then_some(start)
    }

    fn highest(self, first: u64, last: u64) -> Option<u64> {
        let start = last & !self.0;
        (first <= start).then_some(start)
    }
}

/// The end of the window from which places are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Lowest,
    Highest,
}

/// Finds the place for `size` in `window`; `None` for size 0.
pub(crate) fn gap<A: Address, G: Geometry>(
    tree: &Tree<G>,
    count: &impl Counters,
    size: u64,
    align: impl Align,
    window: Extent<A>,
    end: End,
) -> Option<Extent<A>> {
    let wanted = Wanted {
        size,
        align,
        lo: window.start().raw(),
        hi: window.last().raw(),
    };
    let above = size.checked_sub(1)?;
    let start = tree.find_gap(wanted, end, count)?;
    Some(extent(start, start + above))
}

impl<L: Align> Wanted<L> {
    /// The start of the place in the gap from `start` to `last`.
    fn place(&self, end: End, start: u64, last: u64) -> Option<u64> {
        let (start, last) = (start.max(self.lo), last.min(self.hi));
        if start > last || last - start < self.size - 1 {
            return None;
        }
        let last = last - (self.size - 1);
        match end {
            End::Lowest => self.align.lowest(start, last),
            End::Highest => self.align.highest(start, last),
        }
    }

    fn meets(&self, min: u64, max: u64) -> bool {
        min <= self.hi && self.lo <= max
    }
}

impl<G: Geometry> Tree<G> {
    /// Finds the start of a place for `wanted.size`, which is not 0, nearest to one end of the
    /// window.
    ///
    /// Subtrees wholly inside the window are entered only if they have room. So at most the nodes
    /// on the two paths to the window's ends are visited in vain.
    fn find_gap(&self, wanted: Wanted<impl Align>, end: End, count: &impl Counters) -> Option<u64> {
        let Some(root) = self.root.load() else {
            return wanted.place(end, 0, u64::MAX);
        };
        let (first, last) = self.outer();
        let below = first.checked_sub(1);
        let below = below.and_then(|last| wanted.place(end, 0, last));
        let above = last.checked_add(1);
        let above = above.and_then(|start| wanted.place(end, start, u64::MAX));
        let (near, far) = match end {
            End::Lowest => (below, above),
            End::Highest => (above, below),
        };
        let between = || {
            let has_room = wanted.size <= self.largest_gap();
            let below = || Self::gap_below(root, 0, u64::MAX, &wanted, end, count);
            has_room.then(below).flatten()
        };
        near.or_else(between).or(far)
    }

    fn gap_below(
        node: Node<'_, G>,
        min: u64,
        max: u64,
        wanted: &Wanted<impl Align>,
        end: End,
        count: &impl Counters,
    ) -> Option<u64> {
        count.count(Event::Visit);
        let inner = match node {
            Node::Leaf(leaf) => return gap_in(leaf, min, max, wanted, end),
            Node::Inner(inner) => inner.get(),
        };
        let len = inner.len();
        let (from, to) = (inner.rank(wanted.lo), inner.rank(wanted.hi) + 1);
        let below = |at: usize| {
            if inner.gap(at) < wanted.size {
                return None;
            }
            let min = if at == 0 {
                min
            } else {
                inner.pivot(at - 1) + 1
            };
            let max = if at + 1 == len { max } else { inner.pivot(at) };
            if !wanted.meets(min, max) {
                return None;
            }
            Self::gap_below(inner.link(at).load()?, min, max, wanted, end, count)
        };
        match end {
            End::Lowest => (from..to).find_map(below),
            End::Highest => (from..to).rev().find_map(below),
        }
    }
}

/// As [`Tree::find_gap`], in a leaf. In a leaf that is not the first, the gap before its first
/// entry is empty (I5).
fn gap_in<G: Geometry>(
    leaf: Ptr<'_, Leaf<G>>,
    min: u64,
    max: u64,
    wanted: &Wanted<impl Align>,
    end: End,
) -> Option<u64> {
    let mut found = None;
    let mut free = Some(min);
    for at in 0..leaf.len() {
        let Some(slot) = leaf.read(at) else { continue };
        if let Some(free) = free.filter(|free| *free < slot.start) {
            let place = wanted.place(end, free, slot.start - 1);
            if place.is_some() && end == End::Lowest {
                return place;
            }
            found = place.or(found);
        }
        free = slot.last.checked_add(1);
        if slot.start > wanted.hi {
            return found;
        }
    }
    let place = free
        .filter(|free| *free <= max)
        .and_then(|free| wanted.place(end, free, max));
    place.or(found)
}
