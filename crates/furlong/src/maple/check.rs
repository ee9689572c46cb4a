//! `check()`: walks every invariant and names the one that is broken.

use crate::error::messages;

use super::{Geometry, Inner, Leaf, Node, Ptr, Tree};

messages! {
    /// A broken invariant of a tree, numbered as in the module's documentation, with the first
    /// index of the node or the slot that breaks it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Broken {
        /// I1: an extent is reversed, overlaps the one before, or leaves its leaf.
        Order(n: u64) => "I1: the extent at {n:#x} is out of order";
        /// I2: a pivot does not ascend, or leaves its node, or the last one is not MAX.
        Pivot(n: u64) => "I2: a pivot of the node at {n:#x} is out of order";
        /// I3: two leaves have different depths, an inner node has no child, or the root has only
        /// one.
        Shape(n: u64) => "I3: the node at {n:#x} has a wrong depth or no child";
        /// I4: a leaf has no entry, counts its entries wrongly, or an unused slot is not empty.
        Count(n: u64) => "I4: the leaf at {n:#x} counts its entries wrongly";
        /// I5: a leaf that is not the first does not begin with an entry.
        Begin(n: u64) => "I5: the leaf at {n:#x} begins with a gap";
        /// I6: the largest gap noted for a child or for the tree is wrong.
        Gap(n: u64) => "I6: the noted largest gap of the node at {n:#x} is wrong";
        /// I6: the noted number of entries is wrong; this is the right one.
        Len(n: u64) => "I6: the noted number of entries is not {n}";
    }
}

/// The facts about a subtree that was walked.
#[derive(Clone, Copy)]
struct Seen {
    gap: u64,
    entries: usize,
    depth: usize,
}

impl<G: Geometry> Tree<G> {
    /// Walks every invariant.
    pub(super) fn check(&self) -> Result<(), Broken> {
        let Some(root) = self.root.load() else {
            return match (self.largest_gap(), self.len()) {
                (0, 0) => Ok(()),
                (0, _) => Err(Broken::Len(0)),
                _ => Err(Broken::Gap(0)),
            };
        };
        if matches!(root, Node::Inner(inner) if inner.len() < 2) {
            return Err(Broken::Shape(0));
        }
        let seen = Self::check_below(root, 0, u64::MAX)?;
        if seen.gap != self.largest_gap() {
            return Err(Broken::Gap(0));
        }
        if self.find_outer() != Some(self.outer()) {
            return Err(Broken::Gap(0));
        }
        if seen.entries != self.len() {
            return Err(Broken::Len(seen.entries as u64));
        }
        Ok(())
    }

    fn check_below(node: Node<'_, G>, min: u64, max: u64) -> Result<Seen, Broken> {
        match node {
            Node::Leaf(leaf) => check_leaf(leaf, min, max),
            Node::Inner(inner) => Self::check_inner(inner, min, max),
        }
    }

    fn check_inner(inner: Ptr<'_, Inner<G>>, min: u64, max: u64) -> Result<Seen, Broken> {
        let len = inner.len();
        if len == 0 {
            return Err(Broken::Shape(min));
        }
        if (len - 1..G::INNER).any(|at| inner.pivot(at) != u64::MAX) {
            return Err(Broken::Pivot(min));
        }
        let (mut start, mut largest, mut entries) = (min, 0, 0);
        let mut before: Option<Seen> = None;
        for at in 0..len {
            let last = if at + 1 == len { max } else { inner.pivot(at) };
            if last < start || last > max || (at + 1 < len && last == max) {
                return Err(Broken::Pivot(min));
            }
            let child = inner.get().link(at).load().ok_or(Broken::Shape(start))?;
            let seen = Self::check_below(child, start, last)?;
            if before.is_some_and(|before| before.depth != seen.depth) {
                return Err(Broken::Shape(start));
            }
            let (others, widest) = inner.others();
            if seen.gap != inner.gap(at) || (at != widest && seen.gap > others) {
                return Err(Broken::Gap(start));
            }
            largest = seen.gap.max(largest);
            entries += seen.entries;
            start = last.wrapping_add(1);
            before = Some(seen);
        }
        if inner.largest_gap() != largest {
            return Err(Broken::Gap(min));
        }
        Ok(Seen {
            gap: largest,
            entries,
            depth: before.map_or(0, |seen| seen.depth) + 1,
        })
    }
}

fn check_leaf<G: Geometry>(leaf: Ptr<'_, Leaf<G>>, min: u64, max: u64) -> Result<Seen, Broken> {
    let len = leaf.len();
    let mut free = Some(min);
    let mut live = 0;
    let mut filled = 0;
    for at in 0..len {
        let (start, last) = (leaf.start(at), leaf.last(at));
        let erased = leaf.word(at).is_none();
        // An erased extent may lie beyond the present bounds of its leaf.
        let inside = erased || (min <= start && last <= max);
        let behind = free.is_some_and(|free| free <= start) || (erased && live == 0);
        if start > last || !inside || !behind {
            return Err(Broken::Order(start));
        }
        if !erased && live == 0 && min > 0 && start != min {
            return Err(Broken::Begin(min));
        }
        live += usize::from(!erased);
        filled |= u32::from(!erased) << at;
        free = last.checked_add(1);
    }
    let unused = |at| (leaf.start(at), leaf.last(at), leaf.word(at)) == (u64::MAX, u64::MAX, None);
    if filled != leaf.filled() || live == 0 || !(len..G::LEAF).all(unused) {
        return Err(Broken::Count(min));
    }
    Ok(Seen {
        gap: leaf.largest_gap(max),
        entries: live,
        depth: 0,
    })
}
