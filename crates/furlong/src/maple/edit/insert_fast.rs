//! The common cases: adds an entry in free space to a leaf that has room, and removes one from a
//! leaf that has enough.
//!
//! The result equals that of a [`Cut`](super::cut::Cut) of no slots or of one.

use crate::maple::{
    Config, Counters, Event, Geometry, Leaf, NoMemory, Node, Nodes, Ptr, Slot, Spot, Write, least,
};

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    /// Puts `new`, which starts in the leaf and before slot `at`, into that slot. Returns false if
    /// more is needed: an entry or an erased slot is in the way, or there is no room.
    #[inline(always)]
    pub(super) fn insert_fast(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        at: usize,
        new: Slot,
    ) -> Result<bool, NoMemory> {
        let leaf = spot.leaf();
        let (len, last) = (leaf.len(), new.last);
        if len == C::Geometry::LEAF || !leaf.is_whole() {
            return Ok(false);
        }
        // A leaf that is not the first begins with an entry (I5), so nothing is put before that
        // one.
        let above = if at == len {
            spot.max
        } else {
            leaf.start(at).saturating_sub(1)
        };
        if last > above || at < len && leaf.start(at) <= last {
            return Ok(false);
        }
        let below = match at.checked_sub(1) {
            Some(before) => leaf.last(before) + 1,
            None => spot.min,
        };
        let leaf = if at == len {
            leaf.push(new);
            self.count.count(Event::SlotStore);
            leaf
        } else if READERS {
            self.pool.ensure(Nodes::LEAF)?;
            let copy = self.pool.leaf(self.tree);
            copy.copy_with(leaf.get(), at, new);
            self.exchange(spot, copy);
            self.pool.give_up(Node::Leaf(leaf));
            copy
        } else {
            leaf.shift(at, at + 1);
            leaf.put(at, new);
            self.count.count(Event::NodeStore);
            leaf
        };
        self.tree.change_len(1, 0);
        if at == 0 {
            // It lies before the first entry of all.
            self.tree.note_first(new.start);
            self.widen(spot, above - last);
            return Ok(true);
        }
        if at == len && spot.max == u64::MAX {
            self.tree.note_last(last);
            self.widen(spot, new.start - below);
            return Ok(true);
        }
        // The gap around `new` has become two, one, or none.
        if above - below + 1 >= self.gap_of(spot) {
            let behind = above - last;
            // No other gap of the leaf is larger than the one before `new`.
            let largest = if at == len && behind >= new.start - spot.min {
                behind
            } else {
                leaf.largest_gap(spot.max)
            };
            self.climb(spot, spot.height, largest);
        }
        Ok(true)
    }

    /// Removes the entry of a slot in place, beside readers. Returns false if more is needed: the
    /// leaf would have too few entries, or begin elsewhere.
    #[inline(always)]
    pub(super) fn take_out(&mut self, spot: &Spot<'a, C::Geometry>, at: usize, slot: Slot) -> bool {
        let leaf = spot.leaf();
        if leaf.live() <= least(C::Geometry::LEAF) {
            return false;
        }
        let Some((_, before)) = leaf.entry_before(at) else {
            return false;
        };
        leaf.erase(at);
        self.count.count(Event::SlotStore);
        self.tree.change_len(0, 1);
        let next = match leaf.entry_from(at + 1) {
            Some((_, next)) => next.start,
            None if spot.max < u64::MAX => spot.max + 1,
            None => {
                // It lies behind the last entry of all.
                self.tree.note_last(before.last);
                if slot.start - before.last > self.gap_of(spot) {
                    self.update_gaps(spot);
                }
                return true;
            }
        };
        self.widen(spot, next - before.last - 1);
        true
    }

    /// Replaces one leaf, which the caller gives up, by another.
    #[inline]
    pub(super) fn exchange(&self, spot: &Spot<'a, C::Geometry>, new: Ptr<'a, Leaf<C::Geometry>>) {
        self.count.count(Event::NodeStore);
        match spot.height.checked_sub(1).map(|depth| spot.step(depth)) {
            Some(step) => step.node.link(step.at).publish(Node::Leaf(new)),
            None => self.tree.root.publish(Node::Leaf(new)),
        }
    }
}
