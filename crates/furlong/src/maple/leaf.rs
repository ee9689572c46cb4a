//! A leaf: extents and their entries, in order, without slots for gaps.
#![forbid(unsafe_code)]

use core::ptr::{self, NonNull};

use super::geometry::{Geometry, Row};
use crate::rcu::RcuHead;
use crate::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// An entry's word.
pub(super) type Word = NonNull<()>;

/// What a slot holds: an extent and its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) start: u64,
    pub(super) last: u64,
    pub(super) word: Word,
}

/// Which word of a slot was stored again where it stands (L4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// None: the slot is as it was when it got its entry.
    Fresh = 0,
    /// Where it starts.
    Start = 1,
    /// Where it ends.
    Last = 2,
    /// Its entry.
    Word = 3,
}

/// Slots in three arrays. Unused ones have MAX for both ends, and no word.
///
/// Readers use the arrays alone; `len`, `live` and `kinds` are the writer's.
#[repr(C)]
pub(super) struct Leaf<G: Geometry> {
    last: G::Leaf<AtomicU64>,
    kinds: AtomicU32,
    len: AtomicU8,
    live: AtomicU8,
    /// Where it is in its block: see [`Kind`](super::block::Kind).
    pub(super) place: u8,
    _room: u8,
    start: G::Leaf<AtomicU64>,
    word: G::Leaf<AtomicPtr<()>>,
    pub(super) head: RcuHead,
}

/// How many of `keys`, which ascend, are below `key`.
///
/// Two rounds of comparisons that do not wait for each other: every fourth key, then the three
/// before the one that was found. With `LAST_IS_MAX` the last key need not be compared.
#[inline(always)]
pub(super) fn rank<const LAST_IS_MAX: bool>(keys: &[AtomicU64], key: u64) -> usize {
    // Relaxed: what a key leads to is read later, with orderings of its own.
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

impl<G: Geometry> Leaf<G> {
    /// A leaf without entries.
    pub(super) fn new(place: u8) -> Self {
        Self {
            last: G::Leaf::from_fn(|_| AtomicU64::new(u64::MAX)),
            kinds: AtomicU32::new(0),
            len: AtomicU8::new(0),
            live: AtomicU8::new(0),
            place,
            _room: 0,
            start: G::Leaf::from_fn(|_| AtomicU64::new(u64::MAX)),
            word: G::Leaf::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            head: RcuHead::new(),
        }
    }

    /// Slots in use, those of erased entries among them.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        // Relaxed: only the writer uses it.
        usize::from(self.len.load(Ordering::Relaxed))
    }

    /// Slots with an entry.
    #[inline(always)]
    pub(super) fn live(&self) -> usize {
        // Relaxed: only the writer uses it.
        usize::from(self.live.load(Ordering::Relaxed))
    }

    /// The number of entries in the slots `from..to`.
    #[inline]
    pub(super) fn live_in(&self, from: usize, to: usize) -> usize {
        if self.live() == self.len() {
            return to.saturating_sub(from);
        }
        (from..to).filter(|at| self.word(*at).is_some()).count()
    }

    /// The first slot that ends at `key` or later; one past the last slot if none does.
    #[inline(always)]
    pub(super) fn rank(&self, key: u64) -> usize {
        rank::<false>(self.last.as_slice(), key)
    }

    #[inline(always)]
    pub(super) fn start(&self, at: usize) -> u64 {
        // Relaxed: see `read`.
        self.start.as_slice()[at].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn last(&self, at: usize) -> u64 {
        // Relaxed: see `read`.
        self.last.as_slice()[at].load(Ordering::Relaxed)
    }

    /// The entry of a slot; none if it was erased or never used.
    #[inline(always)]
    pub(super) fn word(&self, at: usize) -> Option<Word> {
        // Acquire, `slot-look`: pairs with `slot-fill` and `slot-replace`: the ends of a slot, and
        // what its entry points to, are seen as they were when it got the entry.
        NonNull::new(self.word.as_slice()[at].load(Ordering::Acquire))
    }

    /// What a slot holds at one moment, also beside a writer: since only one of the three words
    /// ever changes (L4), they were all so at the time when that one was read.
    #[inline(always)]
    pub(super) fn read(&self, at: usize) -> Option<Slot> {
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

    /// What was stored again in a slot.
    pub(super) fn kind(&self, at: usize) -> Kind {
        // Relaxed: only the writer uses it.
        match self.kinds.load(Ordering::Relaxed) >> (2 * at) & 3 {
            0 => Kind::Fresh,
            1 => Kind::Start,
            2 => Kind::Last,
            _ => Kind::Word,
        }
    }

    /// Whether the word of that kind may be stored where it stands (L4); if so, that is noted.
    pub(super) fn may_store(&self, at: usize, kind: Kind) -> bool {
        let free = [Kind::Fresh, kind].contains(&self.kind(at));
        if free {
            // Relaxed: only the writer uses it.
            let kinds = self.kinds.load(Ordering::Relaxed) | (kind as u32) << (2 * at);
            self.kinds.store(kinds, Ordering::Relaxed);
        }
        free
    }

    /// Puts an entry behind all slots. Beside readers it is there from one moment on.
    #[inline(always)]
    pub(super) fn push(&self, slot: Slot) {
        let at = self.len();
        self.set_ends(at, slot.start, slot.last);
        // Release, `slot-fill`: pairs with `slot-look`.
        self.word.as_slice()[at].store(slot.word.as_ptr(), Ordering::Release);
        self.set_len(at + 1);
        self.set_live(self.live() + 1);
    }

    /// Replaces the entry of a slot.
    pub(super) fn set_word(&self, at: usize, word: Word) {
        // Release, `slot-replace`: pairs with `slot-look`.
        self.word.as_slice()[at].store(word.as_ptr(), Ordering::Release);
    }

    /// Takes the entry out of a slot, whose ends stay.
    pub(super) fn erase(&self, at: usize) {
        // Relaxed: there is nothing behind it to be seen.
        self.word.as_slice()[at].store(ptr::null_mut(), Ordering::Relaxed);
        self.set_live(self.live() - 1);
    }

    /// Moves the start of a slot.
    pub(super) fn set_start(&self, at: usize, start: u64) {
        // Relaxed: it is the one word of the slot that changes (L4); nothing is behind it.
        self.start.as_slice()[at].store(start, Ordering::Relaxed);
    }

    /// Moves the last index of a slot.
    pub(super) fn set_last(&self, at: usize, last: u64) {
        // Relaxed: as in `set_start`.
        self.last.as_slice()[at].store(last, Ordering::Relaxed);
    }

    /// Writes a slot anew. Not beside readers.
    #[inline(always)]
    pub(super) fn put(&self, at: usize, slot: Slot) {
        self.set_ends(at, slot.start, slot.last);
        // Relaxed: nobody reads beside it.
        self.word.as_slice()[at].store(slot.word.as_ptr(), Ordering::Relaxed);
    }

    /// Copies the slots `from..` to `to..`, and sets the length for it. Not beside readers.
    #[inline(always)]
    pub(super) fn shift(&self, from: usize, to: usize) {
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
        let len = len + to - from;
        self.set_len(len);
        self.set_live(len);
    }

    /// Keeps the first `len` slots, all of which have entries. Not beside readers.
    pub(super) fn truncate(&self, len: usize) {
        for at in len..self.len() {
            self.clear(at);
        }
        self.set_filled(len);
    }

    #[inline(always)]
    fn copy_slot(&self, from: usize, to: usize) {
        self.set_ends(to, self.start(from), self.last(from));
        // Relaxed: nobody reads beside it.
        let word = self.word.as_slice()[from].load(Ordering::Relaxed);
        self.word.as_slice()[to].store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    fn clear(&self, at: usize) {
        self.set_ends(at, u64::MAX, u64::MAX);
        // Relaxed: nobody reads beside it.
        self.word.as_slice()[at].store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Copies entries of `other` from slot `from` on to the slots `to..to + len`. Not beside
    /// readers of this leaf.
    #[inline(always)]
    pub(super) fn copy(&self, to: usize, other: &Self, from: usize, len: usize) {
        // Relaxed, both: the writer has written them all, and nobody reads beside it here.
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
    /// from `at` on; returns where they end. Not beside readers of this leaf.
    #[inline(always)]
    pub(super) fn copy_entries(&self, at: usize, other: &Self, from: usize, to: usize) -> usize {
        if other.live() == other.len() {
            self.copy(at, other, from, to - from);
            return at + to - from;
        }
        let mut at = at;
        for slot in (from..to).filter_map(|from| other.read(from)) {
            self.put(at, slot);
            at += 1;
        }
        at
    }

    /// Makes it a leaf of the first `len` slots, all of which have been written, whatever it was
    /// before. Not beside readers.
    #[inline(always)]
    pub(super) fn close(&self, len: usize) {
        for at in len..G::LEAF {
            self.clear(at);
        }
        self.set_filled(len);
        // Relaxed: only the writer uses it.
        self.kinds.store(0, Ordering::Relaxed);
    }

    /// As `close`, where all other slots are as they are in a new leaf.
    #[inline(always)]
    pub(super) fn set_filled(&self, len: usize) {
        self.set_len(len);
        self.set_live(len);
    }

    #[inline(always)]
    fn set_ends(&self, at: usize, start: u64, last: u64) {
        // Relaxed: the slot has no entry yet, or no reader; `slot-fill` publishes both.
        self.last.as_slice()[at].store(last, Ordering::Relaxed);
        self.start.as_slice()[at].store(start, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_len(&self, len: usize) {
        // Relaxed: only the writer uses it.
        self.len.store(len as u8, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_live(&self, live: usize) {
        // Relaxed: only the writer uses it.
        self.live.store(live as u8, Ordering::Relaxed);
    }

    /// The largest gap behind an entry and before another one, in a leaf that ends at `max`.
    #[inline]
    pub(super) fn largest_gap(&self, max: u64) -> u64 {
        let len = self.len();
        if self.live() == len && len > 0 {
            return self.largest_gap_of_all(len, max);
        }
        let mut largest = 0;
        // What follows the last entry so far.
        let mut free = None;
        for at in 0..len {
            if self.word(at).is_none() {
                continue;
            }
            largest = largest.max(free.map_or(0, |free| self.start(at) - free));
            let Some(next) = self.last(at).checked_add(1) else {
                return largest;
            };
            free = Some(next);
        }
        // Behind an entry that ends at `max` there is nothing, and behind the last no other.
        let rest = free.filter(|free| *free <= max && max < u64::MAX);
        largest.max(rest.map_or(0, |free| max - free + 1))
    }

    /// The same where no slot is erased.
    #[inline(always)]
    fn largest_gap_of_all(&self, len: usize, max: u64) -> u64 {
        let behind = max - self.last(len - 1);
        let mut largest = if max == u64::MAX { 0 } else { behind };
        let between = |at: usize| self.start(at) - self.last(at - 1) - 1;
        // Two at a time do not wait for each other.
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
