//! The entries around an index, found on one way down.

use crate::maple::{Counters, Event, Geometry, Leaf, Node, Ptr, Slot, Tree};

/// The leaf that an index belongs to, and the bounds of that leaf.
struct Seen<'a, G: Geometry> {
    leaf: Ptr<'a, Leaf<G>>,
    min: u64,
    max: u64,
}

impl<G: Geometry> Seen<'_, G> {
    /// The first entry that contains `key` or lies behind it.
    #[inline(always)]
    fn from(&self, key: u64) -> Option<Slot> {
        let len = self.leaf.len();
        (self.leaf.rank(key)..len).find_map(|at| self.leaf.read(at))
    }

    /// The last entry that contains `key` or lies before it.
    #[inline(always)]
    fn upto(&self, key: u64) -> Option<Slot> {
        let len = self.leaf.len().min(self.leaf.rank(key) + 1);
        let before = |slot: &Slot| slot.start <= key;
        (0..len)
            .rev()
            .find_map(|at| self.leaf.read(at).filter(before))
    }
}

impl<G: Geometry> Tree<G> {
    /// The leaf that `key` belongs to.
    #[inline(always)]
    fn see(&self, key: u64, count: &impl Counters) -> Option<Seen<'_, G>> {
        let mut node = self.root.load()?;
        let (mut min, mut max) = (0, u64::MAX);
        loop {
            count.count(Event::Visit);
            match node {
                Node::Inner(inner) => {
                    let inner = inner.get();
                    let at = inner.rank(key);
                    if at > 0 {
                        min = inner.pivot(at - 1) + 1;
                    }
                    max = max.min(inner.pivot(at));
                    node = inner.link(at).load()?;
                }
                Node::Leaf(leaf) => {
                    // Beside a writer, a pivot may have moved over indices without entries since it
                    // was compared. The search then continues next to `key` itself.
                    let (min, max) = (min.min(key), max.max(key));
                    return Some(Seen { leaf, min, max });
                }
            }
        }
    }

    /// The first entry that contains `key` or lies behind it.
    #[inline]
    pub(crate) fn from(&self, key: u64, count: &impl Counters) -> Option<Slot> {
        let mut key = key;
        loop {
            let seen = self.see(key, count)?;
            if let Some(slot) = seen.from(key) {
                return Some(slot);
            }
            key = seen.max.checked_add(1)?;
        }
    }

    /// The last entry that contains `key` or lies before it.
    #[inline]
    pub(crate) fn upto(&self, key: u64, count: &impl Counters) -> Option<Slot> {
        let mut key = key;
        loop {
            let seen = self.see(key, count)?;
            if let Some(slot) = seen.upto(key) {
                return Some(slot);
            }
            key = seen.min.checked_sub(1)?;
        }
    }

    /// The last entry that starts before `key`, and the first that contains `key` or lies behind
    /// it. Both are the same entry if `key` lies inside it.
    #[inline]
    pub(super) fn beside(&self, key: u64, count: &impl Counters) -> [Option<Slot>; 2] {
        let Some(seen) = self.see(key, count) else {
            return [None, None];
        };
        let below = key.checked_sub(1).and_then(|before| {
            let near = seen.upto(before);
            near.or_else(|| self.upto(seen.min.checked_sub(1)?, count))
        });
        let above = seen.from(key);
        let above = above.or_else(|| self.from(seen.max.checked_add(1)?, count));
        [below, above]
    }
}
