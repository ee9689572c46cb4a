//! A leaf: extents and their entries, in order, without slots for gaps.

use core::ptr::{self, NonNull};

use crate::maple::{Geometry, Row};
use crate::rcu::RcuHead;
use crate::sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An entry's word.
pub(crate) type Word = NonNull<()>;

/// The content of a slot: an extent and its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) start: u64,
    pub(crate) last: u64,
    pub(crate) word: Word,
}

/// The word of a slot that was stored again in place (I8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// None: the slot is as it was when it got its entry.
    Fresh = 0,
    /// Its first index.
    Start = 1,
    /// Its last index.
    Last = 2,
    /// Its entry.
    Word = 3,
}

/// Slots in three arrays. Unused ones have MAX for both ends, and no word.
/// Readers use the arrays and `len`. `filled` and `kinds` belong to the writer. It finds entries
/// by bits: erased slots are random, and a branch on each would be mispredicted. These fields share
/// no cache line with `last`, of which a reader needs every line. So an erasure dirties only one
/// line that a reader of another entry may miss on.
#[repr(C)]
pub(crate) struct Leaf<G: Geometry> {
    last: G::Leaf<AtomicU64>,
    start: G::Leaf<AtomicU64>,
    word: G::Leaf<AtomicPtr<()>>,
    kinds: AtomicU32,
    filled: AtomicU16,
    len: AtomicU8,
    /// The leaf's place in its block: see [`Kind`](crate::maple::memory::block::Kind).
    pub(crate) place: u8,
    pub(crate) head: RcuHead,
}

/// The number of `keys`, which ascend, below `key`.
///
/// Two rounds of comparisons that do not depend on each other: every fourth key, then the three
/// before the one found. With `LAST_IS_MAX` the last key need not be compared.
#[inline(always)]
pub(crate) fn rank<const LAST_IS_MAX: bool>(keys: &[AtomicU64], key: u64) -> usize {
    // Relaxed: the slots or links that a key leads to are read later, with their own orderings.
    let below = |at: usize| usize::from(keys[at].load(Ordering::Relaxed) < key);
    let compared = keys.len() - usize::from(LAST_IS_MAX);
    let mut fours = 0;
    let mut at = 3;
    while at < compared {
        fours += below(at);
        at += 4;
    }
    let mut from = fours * 4;
    if compared % 4 != 3 {
        from = from.min(keys.len() - 3);
    }
    from + below(from) + below(from + 1) + below(from + 2)
}

/// The bits of the slots before `at`.
#[inline(always)]
fn bits_below(at: usize) -> u32 {
    (1 << at) - 1
}

/// The slots of a set of bits, the first one first.
struct Slots(u32);

impl Iterator for Slots {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros() as usize;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            at
        })
    }
}

impl<G: Geometry> Leaf<G> {
    /// A leaf without entries.
    pub(crate) fn new(place: u8) -> Self {
        Self {
            last: G::Leaf::from_fn(|_| AtomicU64::new(u64::MAX)),
            kinds: AtomicU32::new(0),
            filled: AtomicU16::new(0),
            len: AtomicU8::new(0),
            place,
            start: G::Leaf::from_fn(|_| AtomicU64::new(u64::MAX)),
            word: G::Leaf::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            head: RcuHead::new(),
        }
    }

    /// The number of slots in use, including those of erased entries.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: a reader that has seen an entry has acquired a length that counts it.
        usize::from(self.len.load(Ordering::Relaxed))
    }

    /// The number of slots with an entry.
    #[inline(always)]
    pub(crate) fn live(&self) -> usize {
        self.filled().count_ones() as usize
    }

    /// True if no slot in use is erased.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.filled() == bits_below(self.len())
    }

    /// The number of entries in the slots `from..to`.
    #[inline(always)]
    pub(crate) fn live_in(&self, from: usize, to: usize) -> usize {
        (self.filled() & bits_below(to) & !bits_below(from)).count_ones() as usize
    }

    /// The first entry in the slots from `at` on, and its slot. Only for the writer.
    #[inline(always)]
    pub(crate) fn entry_from(&self, at: usize) -> Option<(usize, Slot)> {
        let behind = self.filled() & !bits_below(at);
        let at = behind.trailing_zeros() as usize;
        (behind != 0)
            .then(|| self.read(at))
            .flatten()
            .map(|slot| (at, slot))
    }

    /// The last entry in the slots before `at`, and its slot. Only for the writer.
    #[inline(always)]
    pub(crate) fn entry_before(&self, at: usize) -> Option<(usize, Slot)> {
        let at = (self.filled() & bits_below(at)).checked_ilog2()? as usize;
        self.read(at).map(|slot| (at, slot))
    }

    /// The slot behind the first `entries` entries in the slots `from..to`; `to` if there are
    /// fewer.
    #[inline]
    pub(crate) fn behind(&self, entries: usize, from: usize, to: usize) -> usize {
        if self.is_whole() {
            return to.min(from + entries);
        }
        let mut slots = Slots(self.filled() & bits_below(to) & !bits_below(from));
        slots.nth(entries).unwrap_or(to)
    }

    /// One bit for each slot with an entry.
    #[inline(always)]
    pub(crate) fn filled(&self) -> u32 {
        // Relaxed: only the writer uses it.
        u32::from(self.filled.load(Ordering::Relaxed))
    }

    /// The first slot that ends at `key` or later; one past the last slot if none does.
    #[inline(always)]
    pub(crate) fn rank(&self, key: u64) -> usize {
        rank::<false>(self.last.as_slice(), key)
    }

    #[inline(always)]
    pub(crate) fn start(&self, at: usize) -> u64 {
        // Relaxed: see `read`.
        self.start.as_slice()[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn last(&self, at: usize) -> u64 {
        // Relaxed: see `read`.
        self.last.as_slice()[at].load(Ordering::Relaxed)
    }

    /// The entry of a slot; none if it was erased or never used.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> Option<Word> {
        // Acquire, `slot-look`: pairs with `slot-fill` and `slot-replace`. The ends of the slot,
        // and the memory that its entry points to, are seen as they were when it got the entry.
        NonNull::new(self.word.as_slice()[at].load(Ordering::Acquire))
    }

    /// The content of a slot at one moment, also beside a writer. Only one of the three words ever
    /// changes (I8), so all three were current at the moment when that one was read.
    #[inline(always)]
    pub(crate) fn read(&self, at: usize) -> Option<Slot> {
        let word = self.word(at)?;
        Some(Slot {
            start: self.start(at),
            last: self.last(at),
            word,
        })
    }

    /// The first entry in the slots from `at` on, and its slot.
    #[inline]
    pub(super) fn first_from(&self, at: usize) -> Option<(usize, Slot)> {
        (at..G::LEAF).find_map(|at| Some((at, self.read(at)?)))
    }

    /// The last entry in the slots before `at`, and its slot.
    #[inline]
    pub(super) fn last_before(&self, at: usize) -> Option<(usize, Slot)> {
        (0..at).rev().find_map(|at| Some((at, self.read(at)?)))
    }

    /// The word of a slot that was stored again.
    pub(crate) fn kind(&self, at: usize) -> Kind {
        // Relaxed: only the writer uses it.
        match self.kinds.load(Ordering::Relaxed) >> (2 * at) & 3 {
            0 => Kind::Fresh,
            1 => Kind::Start,
            2 => Kind::Last,
            _ => Kind::Word,
        }
    }

    /// True if the word of that kind may be stored in place (I8). If so, that is noted.
    pub(crate) fn may_store(&self, at: usize, kind: Kind) -> bool {
        let free = [Kind::Fresh, kind].contains(&self.kind(at));
        if free {
            // Relaxed: only the writer uses it.
            let kinds = self.kinds.load(Ordering::Relaxed) | (kind as u32) << (2 * at);
            self.kinds.store(kinds, Ordering::Relaxed);
        }
        free
    }

    /// Adds an entry behind all slots. Readers see it appear at one moment.
    #[inline(always)]
    pub(crate) fn push(&self, slot: Slot) {
        let at = self.len();
        self.set_ends(at, slot.start, slot.last);
        // Before the word: a reader that has seen the entry also looks at its slot.
        self.set_len(at + 1);
        // Release, `slot-fill`: pairs with `slot-look`.
        self.word.as_slice()[at].store(slot.word.as_ptr(), Ordering::Release);
        self.set_filled(self.filled() | 1 << at);
    }

    /// Replaces the entry of a slot.
    pub(crate) fn set_word(&self, at: usize, word: Word) {
        // Release, `slot-replace`: pairs with `slot-look`.
        self.word.as_slice()[at].store(word.as_ptr(), Ordering::Release);
    }

    /// Removes the entry of a slot, whose ends stay.
    pub(crate) fn erase(&self, at: usize) {
        // Relaxed: a reader follows nothing from an empty word.
        self.word.as_slice()[at].store(ptr::null_mut(), Ordering::Relaxed);
        self.set_filled(self.filled() & !(1 << at));
    }

    /// Puts an entry into an erased slot, with the ends that are still there.
    pub(crate) fn refill(&self, at: usize, word: Word) {
        self.set_word(at, word);
        self.set_filled(self.filled() | 1 << at);
    }

    /// Moves the start of a slot.
    pub(crate) fn set_start(&self, at: usize, start: u64) {
        // Relaxed: only this word of the slot changes (I8), and readers follow nothing from it.
        self.start.as_slice()[at].store(start, Ordering::Relaxed);
    }

    /// Moves the last index of a slot.
    pub(crate) fn set_last(&self, at: usize, last: u64) {
        // Relaxed: as in `set_start`.
        self.last.as_slice()[at].store(last, Ordering::Relaxed);
    }

    /// Overwrites a slot. Not beside readers.
    #[inline(always)]
    pub(crate) fn put(&self, at: usize, slot: Slot) {
        self.set_ends(at, slot.start, slot.last);
        // Relaxed: no reader sees this leaf now.
        self.word.as_slice()[at].store(slot.word.as_ptr(), Ordering::Relaxed);
    }

    /// Copies the slots `from..` to `to..`, and adapts the length. Not beside readers.
    #[inline(always)]
    pub(crate) fn shift(&self, from: usize, to: usize) {
        let len = self.len();
        if to > from {
            for at in (from..len).rev() {
                self.copy_slot(at, at + to - from);
            }
        } else {
            for at in from..len {
                self.copy_slot(at, at - (from - to));
            }
            for at in len - (from - to)..len {
                self.clear(at);
            }
        }
        self.fill(len + to - from);
    }

    /// Keeps the first `len` slots, all of which have entries. Not beside readers.
    pub(crate) fn truncate(&self, len: usize) {
        for at in len..self.len() {
            self.clear(at);
        }
        self.fill(len);
    }

    #[inline(always)]
    fn copy_slot(&self, from: usize, to: usize) {
        self.copy_one(to, self, from);
    }

    /// Copies a slot of `other`. Not beside readers of this leaf.
    #[inline(always)]
    fn copy_one(&self, to: usize, other: &Self, from: usize) {
        self.set_ends(to, other.start(from), other.last(from));
        // Relaxed: the writer itself has written the word, and no reader sees this leaf now.
        let word = other.word.as_slice()[from].load(Ordering::Relaxed);
        self.word.as_slice()[to].store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    fn clear(&self, at: usize) {
        self.set_ends(at, u64::MAX, u64::MAX);
        // Relaxed: no reader sees this leaf now.
        self.word.as_slice()[at].store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Copies `len` entries of `other` from slot `from` on to slots from `to` on. Not beside
    /// readers of this leaf.
    #[inline(always)]
    pub(crate) fn copy(&self, to: usize, other: &Self, from: usize, len: usize) {
        // Relaxed, both: the writer itself has written them all, and no reader sees this leaf now.
        let copy = |to: &[AtomicU64], from: &[AtomicU64]| {
            for (to, from) in to.iter().zip(from) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        };
        let (to, from) = (to..to + len, from..from + len);
        let at = to.clone();
        copy(
            &self.last.as_slice()[at],
            &other.last.as_slice()[from.clone()],
        );
        let at = to.clone();
        copy(
            &self.start.as_slice()[at],
            &other.start.as_slice()[from.clone()],
        );
        let words = &other.word.as_slice()[from];
        for (to, from) in self.word.as_slice()[to].iter().zip(words) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Copies the entries of `other` in the slots `from..to`, without erased ones, to the slots
    /// from `at` on. Returns the end of the copy. Not beside readers of this leaf.
    #[inline(always)]
    pub(crate) fn copy_entries(&self, at: usize, other: &Self, from: usize, to: usize) -> usize {
        if other.is_whole() {
            self.copy(at, other, from, to - from);
            return at + to - from;
        }
        let mut at = at;
        for from in Slots(other.filled() & bits_below(to) & !bits_below(from)) {
            self.copy_one(at, other, from);
            at += 1;
        }
        at
    }

    /// Makes it a copy of `other`, which has no erased slot and has room, with `new` as slot `at`.
    /// Not beside readers of this leaf.
    ///
    /// Copies the unused slots too: then the steps are the same wherever `new` is put, and no loop
    /// has an end that would be mispredicted.
    #[inline(always)]
    pub(crate) fn copy_with(&self, other: &Self, at: usize, new: Slot) {
        for to in 0..G::LEAF {
            self.copy_one(to, other, to - usize::from(to > at));
        }
        self.put(at, new);
        self.fill(other.len() + 1);
        // Relaxed: only the writer uses it.
        self.kinds.store(0, Ordering::Relaxed);
    }

    /// Makes it a leaf of the first `len` slots, all of which have been written, whatever it held
    /// before. Not beside readers.
    #[inline(always)]
    pub(crate) fn close(&self, len: usize) {
        for at in len..G::LEAF {
            self.clear(at);
        }
        self.fill(len);
        // Relaxed: only the writer uses it.
        self.kinds.store(0, Ordering::Relaxed);
    }

    /// As `close`, if all other slots are as in a new leaf.
    #[inline(always)]
    pub(crate) fn fill(&self, len: usize) {
        self.set_len(len);
        self.set_filled(bits_below(len));
    }

    #[inline(always)]
    fn set_ends(&self, at: usize, start: u64, last: u64) {
        // Relaxed: the slot has no entry yet, or no reader; `slot-fill` publishes both.
        self.last.as_slice()[at].store(last, Ordering::Relaxed);
        self.start.as_slice()[at].store(start, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_len(&self, len: usize) {
        // Relaxed: readers see it, or a later one, with the entry that `slot-fill` publishes.
        self.len.store(len as u8, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_filled(&self, slots: u32) {
        // Relaxed: only the writer uses it.
        self.filled.store(slots as u16, Ordering::Relaxed);
    }

    /// The largest gap behind an entry and before another one, in a leaf that ends at `max`.
    #[inline]
    pub(crate) fn largest_gap(&self, max: u64) -> u64 {
        let len = self.len();
        if len > 0 && self.is_whole() {
            return self.largest_gap_of_all(len, max);
        }
        let mut slots = Slots(self.filled());
        let Some(first) = slots.next() else { return 0 };
        let (mut largest, mut last) = (0, self.last(first));
        for at in slots {
            largest = largest.max(self.start(at) - last - 1);
            last = self.last(at);
        }
        // The space behind the last entry of all is no gap between entries.
        largest.max(if max == u64::MAX { 0 } else { max - last })
    }

    /// The same for a leaf without erased slots.
    #[inline(always)]
    fn largest_gap_of_all(&self, len: usize, max: u64) -> u64 {
        let behind = max - self.last(len - 1);
        let mut largest = if max == u64::MAX { 0 } else { behind };
        let between = |at: usize| self.start(at) - self.last(at - 1) - 1;
        // Two maxima side by side do not wait for each other.
        let mut other = 0;
        let mut at = 1;
        while at + 1 < len {
            largest = largest.max(between(at));
            other = other.max(between(at + 1));
            at += 2;
        }
        if at < len {
            largest = largest.max(between(at));
        }
        largest.max(other)
    }
}
