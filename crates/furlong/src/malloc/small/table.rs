//! The grains of a region: which are free, where blocks begin, and the first run that is long
//! enough.
//!
//! Two bits a grain say everything. Summaries of four words, of eight, of sixteen and so on say how
//! long the runs in them are, as those of arenas do. So a search skips what has no room.
#![forbid(unsafe_code)]

use super::super::runs::{run, starts};

/// Grains of a word.
pub(super) const WORD: usize = 64;
/// Words of the lowest summaries. A region has a multiple of it.
pub(super) const LEAF: usize = 4;

/// The runs of free grains in a part of a region: at its begin, anywhere, and at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    first: u32,
    most: u32,
    last: u32,
}

impl Summary {
    /// That of some words.
    fn of(words: &[u64]) -> Self {
        let (mut sum, mut len) = (Self::default(), 0);
        for free in words {
            let head = free.trailing_ones();
            if sum.first == len {
                sum.first += head;
            }
            sum.most = sum.most.max(sum.last + head);
            sum.last = if head == u64::BITS {
                sum.last + head
            } else {
                free.leading_ones()
            };
            len += u64::BITS;
            // Few words have a longer run than those before, so this is seldom more than a look.
            let mut longer = starts(*free, sum.most as usize + 1);
            while longer != 0 {
                sum.most += 1;
                longer &= free.checked_shr(sum.most).unwrap_or(0);
            }
        }
        sum
    }

    /// Two neighbours, of these lengths, as one.
    fn join(self, len: u32, next: Self, next_len: u32) -> Self {
        let first = if self.first == len { next.first } else { 0 };
        let last = if next.last == next_len { self.last } else { 0 };
        Self {
            first: self.first + first,
            most: self.most.max(next.most).max(self.last + next.first),
            last: next.last + last,
        }
    }
}

/// The words and summaries of a region.
pub(super) struct Table<'a> {
    /// Free grains.
    pub(super) free: &'a mut [u64],
    /// The first grains of blocks.
    pub(super) starts: &'a mut [u64],
    /// The summaries of all whole parts, see [`place`].
    pub(super) summaries: &'a mut [Summary],
    /// The number of grains. The words may have more bits, which are never set.
    pub(super) grains: usize,
}

/// The number of summaries of so many words.
pub(super) const fn summaries(words: usize) -> usize {
    (2 * (words / LEAF)).saturating_sub(1)
}

/// The logarithm of the words of a part of a level; level 0 are single words, without summaries.
const fn shift(level: u32) -> u32 {
    if level == 0 {
        0
    } else {
        level - 1 + LEAF.ilog2()
    }
}

/// The grains of so many words.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a region has at most GRAINS_MAX"
)]
const fn length(words: usize) -> u32 {
    (words * WORD) as u32
}

/// The place of a part's summary: between those of the two parts that it is made of. So parts that
/// are not whole, at the end of a region, need no place.
const fn place(level: u32, part: usize) -> usize {
    (part << level) | ((1 << (level - 1)) - 1)
}

/// The level of the widest whole part that begins at a word, which is below `words`.
const fn widest(word: usize, words: usize) -> u32 {
    let room = (words - word).ilog2();
    let aligned = word.trailing_zeros();
    let both = if aligned < room { aligned } else { room };
    (both + 1).saturating_sub(LEAF.ilog2())
}

/// The number of free grains from a grain of these words on.
fn ahead(words: &[u64], at: usize) -> u32 {
    let (mut len, mut skipped) = (0, at % WORD);
    for free in &words[at / WORD..] {
        let ones = (free >> skipped).trailing_ones();
        len += ones;
        if ones as usize + skipped < WORD {
            break;
        }
        skipped = 0;
    }
    len
}

/// The number of free grains in front of a grain of these words, or in front of their end.
fn behind(words: &[u64], at: usize) -> u32 {
    let (mut len, mut skipped) = (0, at.next_multiple_of(WORD) - at);
    for free in words[..at.div_ceil(WORD)].iter().rev() {
        let ones = (free << skipped).leading_ones();
        len += ones;
        if ones as usize + skipped < WORD {
            break;
        }
        skipped = 0;
    }
    len
}

/// The words that a run of grains touches, each with the bits of the run.
fn pieces(at: usize, len: usize) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (at, at + len);
    core::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (word, bit) = (at / WORD, at % WORD);
        let here = (end - at).min(WORD - bit);
        at += here;
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        Some((word, run(bit as u32, here)))
    })
}

impl Table<'_> {
    /// Makes all grains free.
    pub(super) fn clear(&mut self) {
        self.free.fill(0);
        self.starts.fill(0);
        self.mark(0, self.grains, true);
        self.sum(0, self.free.len() - 1, Self::summary);
    }

    /// The lowest grain, from grain `from` on, with which `len` free ones begin.
    ///
    /// Goes along the widest whole parts, and down in the first that has room.
    pub(super) fn first(&self, len: usize, from: usize) -> Option<usize> {
        let words = self.free.len();
        let (mut word, mut skipped) = (from / WORD, from % WORD);
        // The free grains just in front of the word, and the level once there is room.
        let (mut before, mut down) = (0, None);
        while word < words {
            let level = match down {
                Some(level) => level,
                None if skipped != 0 => 0,
                None => widest(word, words),
            };
            let (head, tail, has_room);
            let size = WORD << shift(level);
            if level == 0 {
                let free = self.free[word] >> skipped << skipped;
                (head, tail) = (free.trailing_ones(), free.leading_ones());
                let fits = starts(free, len);
                if fits != 0 && before + (head as usize) < len {
                    return Some(word * WORD + fits.trailing_zeros() as usize);
                }
                has_room = false;
            } else {
                let here = self.summaries[place(level, word >> shift(level))];
                (head, tail) = (here.first, here.last);
                has_room = here.most as usize >= len;
            }
            let (head, tail) = (head as usize, tail as usize);
            if before + head >= len {
                return Some(word * WORD - before);
            }
            if has_room {
                down = Some(level - 1);
                continue;
            }
            before = if head == size { before + size } else { tail };
            word += 1 << shift(level);
            skipped = 0;
        }
        None
    }

    /// True if a block begins at a grain.
    pub(super) fn is_start(&self, at: usize) -> bool {
        self.starts[at / WORD] >> (at % WORD) & 1 == 1
    }

    /// True if a grain is free.
    pub(super) fn is_free(&self, at: usize) -> bool {
        self.free[at / WORD] >> (at % WORD) & 1 == 1
    }

    /// True if these grains exist and are free.
    pub(super) fn are_free(&self, at: usize, len: usize) -> bool {
        at + len <= self.grains
            && pieces(at, len).all(|(word, bits)| self.free[word] & bits == bits)
    }

    /// The end of the block that begins at a grain.
    pub(super) fn end(&self, at: usize) -> usize {
        let mut word = (at + 1) / WORD;
        let mut mask = u64::MAX << ((at + 1) % WORD);
        while word < self.free.len() {
            let borders = (self.free[word] | self.starts[word]) & mask;
            if borders != 0 {
                return word * WORD + borders.trailing_zeros() as usize;
            }
            (word, mask) = (word + 1, u64::MAX);
        }
        self.grains
    }

    /// Makes a block of free grains.
    pub(super) fn take(&mut self, at: usize, len: usize) {
        self.starts[at / WORD] |= 1 << (at % WORD);
        self.change(at, len, false);
    }

    /// Makes the grains of a block free.
    pub(super) fn give(&mut self, at: usize, len: usize) {
        self.starts[at / WORD] &= !(1 << (at % WORD));
        self.change(at, len, true);
    }

    /// Changes grains that belong to a block from now on, or to none.
    pub(super) fn change(&mut self, at: usize, len: usize, is_free: bool) {
        if len > 0 {
            self.mark(at, len, is_free);
            let (first, last) = (at / WORD, (at + len - 1) / WORD);
            self.sum(first, last, |table, level, part| {
                if level > 1 {
                    return table.summary(level, part);
                }
                table.summary_after(part, (at, at + len), is_free)
            });
        }
    }

    fn mark(&mut self, at: usize, len: usize, is_free: bool) {
        for (word, bits) in pieces(at, len) {
            if is_free {
                self.free[word] |= bits;
            } else {
                self.free[word] &= !bits;
            }
        }
    }

    /// Corrects the summaries after a change in these words, from the lowest level up to the first
    /// that stays as it was.
    fn sum(&mut self, first: usize, last: usize, of: impl Fn(&Self, u32, usize) -> Summary) {
        let words = self.free.len();
        let mut level = 1;
        while words >> shift(level) > 0 {
            let first = first >> shift(level);
            let last = (last >> shift(level)).min((words >> shift(level)) - 1);
            let mut is_changed = false;
            for part in first..=last {
                let now = of(self, level, part);
                let place = &mut self.summaries[place(level, part)];
                is_changed |= *place != now;
                *place = now;
            }
            if !is_changed {
                return;
            }
            level += 1;
        }
    }

    /// The summary that a part should have.
    pub(super) fn summary(&self, level: u32, part: usize) -> Summary {
        if level > 1 {
            let below = |half| self.summaries[place(level - 1, 2 * part + half)];
            let len = length(1 << shift(level - 1));
            return below(0).join(len, below(1), len);
        }
        Summary::of(&self.free[part * LEAF..][..LEAF])
    }

    /// The summary of a leaf after a change of the grains in `run`. It searches all words only if
    /// the longest run may have become shorter.
    fn summary_after(&self, leaf: usize, run: (usize, usize), is_free: bool) -> Summary {
        const LEN: usize = LEAF * WORD;
        let words = &self.free[leaf * LEAF..][..LEAF];
        let start = leaf * LEN;
        let (from, to) = (run.0.max(start) - start, run.1.min(start + LEN) - start);
        // The run that the change made or cut: with the free grains on both sides of it.
        #[expect(clippy::cast_possible_truncation, reason = "within a leaf")]
        let around = behind(words, from) + (to - from) as u32 + ahead(words, to);
        let most = self.summaries[place(1, leaf)].most;
        if !is_free && around == most {
            return Summary::of(words);
        }
        Summary {
            first: ahead(words, 0),
            most: most.max(around),
            last: behind(words, LEN),
        }
    }

    /// True if every summary is that of its part.
    pub(super) fn is_summed(&self) -> bool {
        let words = self.free.len();
        let levels = (1..).take_while(|level| words >> shift(*level) > 0);
        let mut parts =
            levels.flat_map(|level| (0..words >> shift(level)).map(move |part| (level, part)));
        parts.all(|(level, part)| self.summaries[place(level, part)] == self.summary(level, part))
    }

    /// The length of the longest run of free grains.
    pub(super) fn longest(&self) -> usize {
        let words = self.free.len();
        let (mut sum, mut word) = (Summary::default(), 0);
        while word < words {
            // At least 1, because there are whole leaves of words.
            let level = widest(word, words);
            let next = self.summaries[place(level, word >> shift(level))];
            sum = sum.join(length(word), next, length(1 << shift(level)));
            word += 1 << shift(level);
        }
        sum.most as usize
    }
}
