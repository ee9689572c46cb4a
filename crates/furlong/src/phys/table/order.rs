//! The segments in the order of their frames: a balanced tree for searches, and a list for the
//! neighbours.

use crate::phys::{All, Avl, HIGH, LOW};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::record;

/// No entry.
const NONE: u32 = u32::MAX;

fn entry(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}

#[inline]
fn load(link: &AtomicU32) -> u32 {
    // Relaxed: the writer's own word.
    link.load(Ordering::Relaxed)
}

fn store(link: &AtomicU32, word: u32) {
    // Relaxed: as in `load`.
    link.store(word, Ordering::Relaxed);
}

record! {
    /// The links of an entry. Only the writer uses them.
    pub(super) struct Links {
        /// Children in the tree: the one with lower frames, and the one with higher ones.
        sides: [AtomicU32; 2] = [AtomicU32::new(NONE), AtomicU32::new(NONE)],
        /// Neighbours: the one below, and the one above.
        beside: [AtomicU32; 2] = [AtomicU32::new(NONE), AtomicU32::new(NONE)],
        height: AtomicU32 = AtomicU32::new(0),
    }
    pub(super) const fn new;
}

impl Links {
    #[inline]
    fn side(&self, side: usize) -> Option<u32> {
        entry(load(&self.sides[side]))
    }

    #[inline]
    fn height(&self) -> u8 {
        load(&self.height) as u8
    }

    fn beside(&self, side: usize) -> Option<u32> {
        entry(load(&self.beside[side]))
    }
}

/// The order of the segments, whose frames and links are in the entries. A search and a change cost
/// O(log n), a step to a neighbour O(1).
#[derive(Clone, Copy)]
pub(crate) struct Order {
    root: u32,
    /// The lowest and the highest segment.
    ends: [u32; 2],
    len: usize,
}

impl Order {
    pub(super) const EMPTY: Self = Self {
        root: NONE,
        ends: [NONE; 2],
        len: 0,
    };

    /// Adds the segment of an entry.
    pub(crate) fn insert<D>(&mut self, all: All<'_, D>, index: u32) {
        let [below, above] = self.around(all, all.get(index).start());
        self.join(all, below, Some(index));
        self.join(all, Some(index), above);
        self.root = Tree(all).with(entry(self.root), index);
        self.len += 1;
    }

    /// Removes the segment of an entry, which still has its frames.
    pub(crate) fn remove<D>(&mut self, all: All<'_, D>, index: u32) {
        self.join(all, below(all, index), above(all, index));
        let root = Tree(all).without(entry(self.root), index);
        self.root = root.unwrap_or(NONE);
        self.len -= 1;
    }

    /// Makes two entries, or the ends of the list, neighbours.
    fn join<D>(&mut self, all: All<'_, D>, below: Option<u32>, above: Option<u32>) {
        for (of, side, its) in [(below, HIGH, above), (above, LOW, below)] {
            let its = its.unwrap_or(NONE);
            match of {
                Some(of) => store(&all.get(of).links().beside[side], its),
                None => self.ends[1 - side] = its,
            }
        }
    }

    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The lowest segment.
    pub(crate) fn first(self) -> Option<u32> {
        entry(self.ends[LOW])
    }

    /// The highest segment.
    pub(crate) fn last(self) -> Option<u32> {
        entry(self.ends[HIGH])
    }

    /// The first segment that ends above `frame`.
    pub(crate) fn ending_above<D>(self, all: All<'_, D>, frame: u64) -> Option<u32> {
        let (mut found, mut next) = (None, entry(self.root));
        while let Some(at) = next {
            let entry = all.get(at);
            let is_above = entry.frames().end > frame;
            if is_above {
                found = Some(at);
            }
            next = entry.links().side(usize::from(!is_above));
        }
        found
    }

    /// The last segment that ends at or below `frame`, and the first that ends above it.
    pub(crate) fn around<D>(self, all: All<'_, D>, frame: u64) -> [Option<u32>; 2] {
        let found = self.ending_above(all, frame);
        [found.map_or(self.last(), |found| below(all, found)), found]
    }

    /// All segments.
    pub(crate) fn iter<D>(self, all: All<'_, D>) -> Iter<'_, D> {
        Iter {
            all,
            ends: self.ends,
            left: self.len,
        }
    }

    /// Exchanges the children of the root.
    #[cfg(all(test, feature = "alloc"))]
    pub(crate) fn turn<D>(self, all: All<'_, D>) {
        let root = self.root;
        let sides = [HIGH, LOW].map(|side| Tree(all).side(root, side));
        Tree(all).set(root, sides, all.get(root).links().height());
    }

    /// The first entry at which the tree differs from the list, or is not balanced.
    pub(super) fn check<D>(self, all: All<'_, D>) -> Result<(), u32> {
        let mut next = self.first();
        check_below(all, entry(self.root), &mut next)?;
        next.map_or(Ok(()), Err)
    }
}

/// The neighbour below a segment.
pub(crate) fn below<D>(all: All<'_, D>, index: u32) -> Option<u32> {
    all.get(index).links().beside(LOW)
}

/// The neighbour above a segment.
pub(crate) fn above<D>(all: All<'_, D>, index: u32) -> Option<u32> {
    all.get(index).links().beside(HIGH)
}

/// The segments from this one up.
pub(crate) fn upwards<D>(all: All<'_, D>, first: Option<u32>) -> impl Iterator<Item = u32> + Clone {
    core::iter::successors(first, move |at| above(all, *at))
}

/// Checks a subtree, which begins with the segment `next` of the list. Returns its height.
fn check_below<D>(all: All<'_, D>, top: Option<u32>, next: &mut Option<u32>) -> Result<u8, u32> {
    let Some(top) = top else { return Ok(0) };
    let links = all.get(top).links();
    let low = check_below(all, links.side(LOW), next)?;
    if *next != Some(top) {
        return Err(top);
    }
    *next = links.beside(HIGH);
    let high = check_below(all, links.side(HIGH), next)?;
    if low.abs_diff(high) > 1 || links.height() != 1 + low.max(high) {
        return Err(top);
    }
    Ok(links.height())
}

/// The tree, whose links are in the entries.
struct Tree<'a, D>(All<'a, D>);

impl<D> Avl for Tree<'_, D> {
    type At = u32;
    const HAS_SUMMARY: bool = false;

    fn side(&self, at: u32, side: usize) -> Option<u32> {
        self.0.get(at).links().side(side)
    }

    fn height(&self, at: u32) -> u8 {
        self.0.get(at).links().height()
    }

    fn set(&mut self, at: u32, sides: [Option<u32>; 2], height: u8) {
        let links = self.0.get(at).links();
        for (link, side) in links.sides.iter().zip(sides) {
            store(link, side.unwrap_or(NONE));
        }
        store(&links.height, height.into());
    }

    fn is_after(&self, at: u32, other: u32) -> bool {
        self.0.get(at).start() > self.0.get(other).start()
    }
}

/// The segments, from either end.
pub(crate) struct Iter<'a, D> {
    all: All<'a, D>,
    ends: [u32; 2],
    left: usize,
}

impl<D> Clone for Iter<'_, D> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<D> Iter<'_, D> {
    fn step(&mut self, end: usize) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let at = self.ends[end];
        let next = self.all.get(at).links().beside(1 - end);
        self.ends[end] = next.unwrap_or(NONE);
        Some(at)
    }
}

impl<D> Iterator for Iter<'_, D> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.step(LOW)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<D> DoubleEndedIterator for Iter<'_, D> {
    fn next_back(&mut self) -> Option<u32> {
        self.step(HIGH)
    }
}

impl<D> ExactSizeIterator for Iter<'_, D> {}
