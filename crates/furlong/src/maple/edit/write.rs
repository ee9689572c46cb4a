//! Changes of a tree, in place or through [`rebuild`](crate::maple::structure::rebuild).

use super::update_gaps::Free;
use crate::maple::node::leaf::Kind;
use crate::maple::{
    Config, Counters, Cut, EraseError, Event, Geometry, Leaf, NoMemory, Node, Nodes, Pool, Ptr,
    Slot, Spot, Stack, Tree, Word, least, spare,
};

/// One change of a tree. With `READERS`, readers may look at any moment of it.
pub(crate) struct Write<'a, C: Config, const READERS: bool> {
    pub(crate) tree: &'a Tree<C::Geometry>,
    pub(crate) pool: &'a mut Pool<C::Geometry, C::Source>,
    pub(crate) count: &'a C::Counters,
    pub(crate) displaced: Displaced<C>,
}

/// The slots that a change has displaced. Only this leads to them: those not taken from it leak.
pub(crate) struct Displaced<C: Config> {
    /// The slot that was removed from a leaf that stays.
    pub(crate) one: Option<Slot>,
    /// Leaves that were unlinked and have displaced entries.
    pub(crate) leaves: Stack<Leaf<C::Geometry>, C::Source>,
}

impl<C: Config> Displaced<C> {
    /// No slots.
    pub(crate) const fn new() -> Self {
        Self {
            one: None,
            leaves: Stack::new(),
        }
    }
}

/// The reason why an entry was not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotInserted {
    /// This entry is in the way.
    Occupied(Slot),
    NoMemory,
}

impl<'a, C: Config, const READERS: bool> Write<'a, C, READERS> {
    pub(crate) fn descend(&self, key: u64) -> Option<Spot<'a, C::Geometry>> {
        self.tree.descend(key, self.count)
    }

    /// Replaces all entries from `start` to `last` by `word`, or by nothing.
    ///
    /// The displaced entries are then in `displaced`.
    #[inline]
    pub(crate) fn store(
        &mut self,
        start: u64,
        last: u64,
        word: Option<Word>,
        split: impl FnOnce(Word) -> Option<Word>,
    ) -> Result<(), EraseError> {
        let new = word.map(|word| Slot { start, last, word });
        let mut left = Spot::new();
        if !self.tree.descend_to(start, &mut left, self.count) {
            return self.plant(new).map_err(EraseError::from);
        }
        if last <= left.max {
            let at = left.leaf().rank(start);
            if let Some(new) = new
                && self.insert_fast(&left, at, new)?
            {
                return Ok(());
            }
            let mut cut = Cut::inside(&left, at, (start, last), new);
            return self.apply(&left, &left, &mut cut, split);
        }
        let mut right = Spot::new();
        if !self.tree.descend_to(last, &mut right, self.count) {
            return Ok(());
        }
        let mut cut = Cut::between(&left, &right, start, last, new);
        self.count.count(Event::SpanningStore);
        self.apply(&left, &right, &mut cut, split)
    }

    /// Removes the entry that contains `index`.
    #[inline]
    pub(crate) fn erase(&mut self, index: u64) -> Result<Option<Slot>, EraseError> {
        let mut spot = Spot::new();
        if !self.tree.descend_to(index, &mut spot, self.count) {
            return Ok(None);
        }
        let at = spot.leaf().rank(index);
        if at >= spot.leaf().len() || spot.leaf().start(at) > index {
            return Ok(None);
        }
        let Some(slot) = spot.leaf().read(at) else {
            return Ok(None);
        };
        if READERS && self.take_out(&spot, at, slot) {
            return Ok(Some(slot));
        }
        let mut cut = Cut::erasing(at, at + 1, 0);
        self.apply(&spot, &spot, &mut cut, |_| None)?;
        Ok(Some(slot))
    }

    /// Inserts `new` into free space.
    #[inline]
    pub(crate) fn insert(&mut self, new: Slot) -> Result<(), NotInserted> {
        let mut spot = Spot::new();
        if !self.tree.descend_to(new.start, &mut spot, self.count) {
            return self.plant(Some(new)).map_err(|_| NotInserted::NoMemory);
        }
        let last = new.last.min(spot.max);
        let at = spot.leaf().rank(new.start);
        let is_inserted = last == new.last
            && self
                .insert_fast(&spot, at, new)
                .map_err(|_| NotInserted::NoMemory)?;
        if is_inserted {
            return Ok(());
        }
        let mut cut = Cut::inside(&spot, at, (new.start, last), Some(new));
        if cut.covered > 0 || cut.len() > 1 || last < new.last {
            // A leaf that is not the first begins with an entry (I5).
            let next = spot.max.wrapping_add(1);
            let there = (cut.from..cut.to).find_map(|at| spot.leaf().read(at));
            let there = there.or_else(|| self.tree.load(next, self.count));
            return Err(there.map_or(NotInserted::NoMemory, NotInserted::Occupied));
        }
        let applied = self.apply(&spot, &spot, &mut cut, |_| None);
        applied.map_err(|_| NotInserted::NoMemory)
    }

    /// Puts the first entry into an empty tree.
    fn plant(&mut self, new: Option<Slot>) -> Result<(), NoMemory> {
        let Some(slot) = new else { return Ok(()) };
        self.pool.ensure(Nodes::LEAF)?;
        let leaf = self.pool.leaf(self.tree);
        leaf.close(0);
        leaf.push(slot);
        self.count.count(Event::NodeStore);
        self.tree.root.publish(Node::Leaf(leaf));
        self.tree.set_largest_gap(0);
        self.tree.note_first(slot.start);
        self.tree.note_last(slot.last);
        self.tree.change_len(1, 0);
        Ok(())
    }

    /// Carries a cut out.
    pub(super) fn apply(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        cut: &mut Cut,
        split: impl FnOnce(Word) -> Option<Word>,
    ) -> Result<(), EraseError> {
        let one = left.leaf().is(right.leaf());
        if one && cut.from == cut.to && cut.len() == 0 {
            return Ok(());
        }
        let taken = left.leaf().live_in(cut.from, cut.to);
        self.carry_out(left, right, cut, split)?;
        if one {
            self.tree.change_len(cut.len(), taken);
        }
        Ok(())
    }

    #[inline]
    fn carry_out(
        &mut self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        cut: &mut Cut,
        split: impl FnOnce(Word) -> Option<Word>,
    ) -> Result<(), EraseError> {
        let one = left.leaf().is(right.leaf());
        let is_alone = one && !self.is_to_merge(left, cut);
        if is_alone && !cut.splits {
            let free = self.free_around(left, cut);
            if self.in_place(left, cut) {
                self.after(left, left.leaf(), free);
                return Ok(());
            }
            if READERS && self.fits_alone(left, cut) {
                return Ok(self.copy_leaf(left, cut, free)?);
            }
        }
        if READERS && is_alone && self.fits_alone(left, cut) {
            self.pool.ensure(Nodes::LEAF)?;
            cut.split(split)?;
            return Ok(self.copy_leaf(left, cut, Free::Unknown)?);
        }
        let plan = self.plan(left, right, cut);
        if left.height == C::Geometry::DEPTH && plan.may_add_level(left, right) {
            return Err(EraseError::NoMemory);
        }
        self.pool.ensure(plan.need())?;
        if cut.splits {
            cut.split(split)?;
            if !READERS && self.in_place(left, cut) {
                self.after(left, left.leaf(), Free::Unknown);
                return Ok(());
            }
        }
        self.rebuild(left, right, cut, &plan);
        Ok(())
    }

    /// True if the rest of a leaf after a cut fits into one leaf, and no sibling has to take part.
    #[inline]
    fn fits_alone(&self, spot: &Spot<'a, C::Geometry>, cut: &Cut) -> bool {
        let live = spot.leaf().live();
        let rest = live + cut.len() - spot.leaf().live_in(cut.from, cut.to);
        rest <= C::Geometry::LEAF && (rest >= live || rest >= least(C::Geometry::LEAF))
    }

    /// Replaces a leaf by a copy with the change.
    #[inline]
    fn copy_leaf(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        cut: &Cut,
        free: Free,
    ) -> Result<(), NoMemory> {
        self.pool.ensure(Nodes::LEAF)?;
        let (old, new) = (spot.leaf(), self.pool.leaf(self.tree));
        let mut len = new.copy_entries(0, old.get(), 0, cut.from);
        for piece in cut.pieces() {
            new.put(len, piece);
            len += 1;
        }
        len = new.copy_entries(len, old.get(), cut.to, old.len());
        new.close(len);
        self.exchange(spot, new);
        if cut.displaces() {
            self.displaced.leaves.take(old);
        } else {
            self.pool.give_up(Node::Leaf(old));
        }
        self.after(spot, new, free);
        Ok(())
    }

    /// True if the leaf would have too few entries, and a sibling has room for them.
    fn is_to_merge(&self, spot: &Spot<'a, C::Geometry>, cut: &Cut) -> bool {
        let (capacity, live) = (C::Geometry::LEAF, spot.leaf().live());
        let len = cut.len();
        if live > least(capacity) || len > 0 && len >= cut.to - cut.from {
            return false;
        }
        let rest = live + len - spot.leaf().live_in(cut.from, cut.to);
        if rest == 0 {
            return true;
        }
        rest < live && rest < least(capacity) && self.find_helper(spot, spot, rest).is_some()
    }

    /// Changes a leaf in place, if possible.
    #[inline]
    fn in_place(&mut self, spot: &Spot<'a, C::Geometry>, cut: &Cut) -> bool {
        if READERS {
            return self.beside_readers(spot, cut).is_some();
        }
        let (leaf, len) = (spot.leaf(), cut.len());
        if leaf.len() + len > C::Geometry::LEAF + cut.to - cut.from || cut.covered > 1 {
            return false;
        }
        if let (true, Some(new)) = (cut.from == leaf.len(), cut.pieces[1]) {
            leaf.push(new);
            self.count.count(Event::SlotStore);
            return true;
        }
        if cut.covered > 0 {
            let mut old = (cut.from..cut.to).filter_map(|at| leaf.read(at));
            self.displaced.one = old.find(|slot| cut.covers(slot));
        }
        if cut.to != cut.from + len {
            leaf.shift(cut.to, cut.from + len);
        }
        let mut at = cut.from;
        for piece in &cut.pieces {
            if let Some(piece) = *piece {
                leaf.put(at, piece);
                at += 1;
            }
        }
        self.count.count(if len == 1 && cut.to == cut.from + 1 {
            Event::SlotStore
        } else {
            Event::NodeStore
        });
        true
    }

    /// Makes a change that takes one store, so that readers see all of it or nothing (I8).
    fn beside_readers(&mut self, spot: &Spot<'a, C::Geometry>, cut: &Cut) -> Option<()> {
        let leaf = spot.leaf();
        let mut pieces = cut.pieces();
        let (piece, more) = (pieces.next(), pieces.next());
        if more.is_some() {
            return None;
        }
        if cut.from == cut.to {
            let piece = piece.filter(|_| cut.from == leaf.len() && cut.from < C::Geometry::LEAF)?;
            leaf.push(piece);
            self.count.count(Event::SlotStore);
            return Some(());
        }
        let at = cut.from;
        if cut.to != at + 1 {
            return None;
        }
        let Some(old) = leaf.read(at) else {
            let ends = (leaf.start(at), leaf.last(at));
            let new = piece.filter(|new| (new.start, new.last) == ends)?;
            leaf.may_store(at, Kind::Word).then_some(())?;
            leaf.refill(at, new.word);
            self.count.count(Event::SlotStore);
            return Some(());
        };
        match piece {
            None => leaf.erase(at),
            Some(new) if (new.start, new.last) == (old.start, old.last) => {
                leaf.may_store(at, Kind::Word).then_some(())?;
                leaf.set_word(at, new.word);
            }
            Some(new) if new.word == old.word && new.start == old.start => {
                leaf.may_store(at, Kind::Last).then_some(())?;
                leaf.set_last(at, new.last);
            }
            Some(new) if new.word == old.word && new.last == old.last => {
                leaf.may_store(at, Kind::Start).then_some(())?;
                leaf.set_start(at, new.start);
            }
            Some(_) => return None,
        }
        self.displaced.one = (cut.covered > 0).then_some(old);
        self.count.count(Event::SlotStore);
        Some(())
    }

    /// Updates the notes after a leaf was changed in place: its gaps, and its start. `free` is the
    /// one gap around the cut before or after the change, if there is just one.
    #[inline]
    fn after(
        &mut self,
        spot: &Spot<'a, C::Geometry>,
        leaf: Ptr<'a, Leaf<C::Geometry>>,
        free: Free,
    ) {
        match free {
            Free::Before(gap) if gap < self.gap_of(spot) => {}
            Free::Now(gap) if gap <= self.gap_of(spot) => {}
            Free::Now(gap) => self.climb(spot, spot.height, gap),
            _ => {
                let gap = leaf.largest_gap(spot.max);
                self.climb(spot, spot.height, gap);
            }
        }
        if spot.max == u64::MAX
            && let Some((_, last)) = leaf.entry_before(leaf.len())
        {
            self.tree.note_last(last.last);
        }
        let Some((_, first)) = leaf.entry_from(0) else {
            return;
        };
        if spot.is_first() {
            self.tree.note_first(first.start);
        } else if first.start != spot.min {
            self.move_min(spot, first.start);
        }
    }

    /// Corrects the start of the leaf that `index` belongs to, or else its largest gap.
    pub(crate) fn settle(&mut self, index: u64) {
        let Some(spot) = self.descend(index) else {
            return;
        };
        let start = spot
            .leaf()
            .entry_from(0)
            .map_or(spot.min, |(_, slot)| slot.start);
        if spot.is_first() || start == spot.min {
            self.update_gaps(&spot);
        } else {
            self.move_min(&spot, start);
        }
    }

    /// Makes a leaf that is not the first begin at `start`. Between the old start and the new one
    /// there must be no entry on either side.
    pub(super) fn move_min(&mut self, spot: &Spot<'a, C::Geometry>, start: u64) {
        let turn = (0..spot.height).rev().map(|depth| spot.step(depth));
        let Some(step) = turn.into_iter().find(|step| step.at > 0) else {
            return;
        };
        step.node.set_pivot(step.at - 1, start - 1);
        if let Some(before) = self.descend(start - 1) {
            self.update_gaps(&before);
        }
    }

    /// The sibling that should take part in a change of two leaves and the leaves between, after
    /// which `rest` entries are left there.
    pub(crate) fn find_helper(
        &self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        rest: usize,
    ) -> Option<Helper<'a, C>> {
        let depth = left.height.checked_sub(1)?;
        let capacity = C::Geometry::LEAF;
        self.helper(left, right, depth, |sibling| match sibling {
            Node::Leaf(leaf) => wants(rest, leaf.live(), capacity),
            Node::Inner(_) => false,
        })
    }

    /// The sibling before or after, below the nodes at `depth`, that `wanted` accepts.
    pub(crate) fn helper(
        &self,
        left: &Spot<'a, C::Geometry>,
        right: &Spot<'a, C::Geometry>,
        depth: usize,
        wanted: impl Fn(Node<'a, C::Geometry>) -> bool,
    ) -> Option<Helper<'a, C>> {
        let (first, last) = (left.step(depth), right.step(depth));
        if first.at > 0 {
            let before = first.node.get().link(first.at - 1).load()?;
            if wanted(before) {
                return Some(Helper::Before(before));
            }
        }
        if last.at + 1 < last.node.len() {
            let after = last.node.get().link(last.at + 1).load()?;
            if wanted(after) {
                return Some(Helper::After(after));
            }
        }
        None
    }
}

/// A sibling that takes part in a change.
pub(crate) enum Helper<'a, C: Config> {
    Before(Node<'a, C::Geometry>),
    After(Node<'a, C::Geometry>),
}

/// True if a sibling with `len` entries should take part when `rest` are left. This is so if they
/// are too few and the sibling has room for them. It is also so if they are too many and both nodes
/// would be at most three quarters full: fuller ones would soon have to be written anew.
pub(crate) fn wants(rest: usize, len: usize, capacity: usize) -> bool {
    if rest == 0 {
        false
    } else if rest < least(capacity) {
        len + rest <= capacity - spare(capacity)
    } else {
        rest > capacity && len + rest <= (6 * capacity).div_ceil(4)
    }
}
