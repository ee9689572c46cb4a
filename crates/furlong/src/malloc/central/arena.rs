//! Arenas: 4 MiB of address space, cut into 64 units; and the words that say which blocks are free.

use crate::sync::atomic::AtomicU64;

use crate::malloc::{Bits, Byte, Half, Link, UNIT, UNIT_SHIFT, Word};

use super::super::runs::{find, run};
use super::fit::Branch;

/// Units of an arena.
pub(crate) const UNITS: usize = 64;
/// Bytes of an arena, and its alignment.
pub(crate) const ARENA: usize = UNITS * UNIT;

/// The length of the smallest huge pages. Larger ones, of systems with larger pages, are found only
/// by chance.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// The units of a huge page, and the huge pages of an arena.
const HUGE_UNITS: u32 = (HUGE_PAGE / UNIT) as u32;
pub(crate) const HUGE_PAGES: u32 = (ARENA / HUGE_PAGE) as u32;

/// The units at both ends of an arena, which are made inaccessible under `GUARD`.
pub(crate) const ENDS: u64 = 1 << 63 | 1;

/// An arena. All fields belong to the pool, under its latch, except these: `base`, `has_guards`,
/// `words` and `huge` never change while it is mapped, and whoever makes a span writes `touched`.
/// An unmapped arena is in no list and has base 0.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Arena {
    pub(crate) base: Word,
    /// Free units.
    pub(crate) free: Bits,
    /// Free units that may have memory behind them and may be non-zero.
    pub(crate) dirty: Bits,
    /// Dirty units that have been dirty since the last round. If nobody takes them before the next
    /// one, they are purged.
    pub(crate) idle: Bits,
    /// Units that are neither free nor in use: their memory is about to go back to the system.
    pub(crate) leaving: Bits,
    /// Units that are inaccessible until they are taken, under `GUARD`. The bits of a unit in use
    /// are its holder's.
    pub(crate) closed: Bits,
    /// Units with a [fence](super::fence) at their end. The bits of a unit in use are its holder's.
    pub(crate) fenced: Bits,
    pub(crate) words: Link<Words>,
    /// The next arena in order of creation.
    pub(crate) next: Link<Self>,
    pub(crate) prev: Link<Self>,
    pub(crate) branch: Branch,
    /// The longest run of free units, and that of all arenas in its subtree.
    pub(crate) longest: Byte,
    pub(crate) most: Byte,
    /// 1 if the units at its ends are guards.
    pub(crate) has_guards: Byte,
    /// The number of eights of each unit's words that have memory behind them. Two threads may
    /// write it at once; a number that is too small only costs a second touch.
    pub(crate) touched: Byte,
    /// The next arena in the order in which they became dirty.
    pub(crate) next_dirty: Link<Self>,
    pub(crate) queued: Byte,
    /// 1 if it was mapped to have huge pages, for spans.
    pub(crate) huge: Byte,
    /// The set of its huge pages that have not been split. A bit goes, under the latch, after its
    /// page was split; so whoever finds it gone without the latch may rely on that.
    pub(crate) unsplit: Byte,
    /// The unit from which runs are looked for first: not the lowest, under `SHUFFLE`.
    pub(crate) start: Byte,
    /// The last round that visited it.
    pub(crate) round: Half,
}

/// 64 blocks a word, up to 64 words a unit. The first eight words of all units come first, each
/// unit's in a cache line of its own, then the next eight. So spans with few blocks touch few
/// pages.
type Lines<T> = [[[T; 8]; UNITS]; 8];

/// The words of an arena's units.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Words {
    free: Lines<Bits>,
    remote: Lines<AtomicU64>,
}

impl Words {
    /// Blocks that are free and that no heap keeps. Only the owner accesses them.
    #[inline]
    pub(crate) fn free(&self, unit: u32, word: usize) -> &Bits {
        &self.free[word / 8 % 8][unit as usize % UNITS][word % 8]
    }

    /// Blocks freed by other threads. Any thread may access them.
    #[inline]
    pub(crate) fn remote(&self, unit: u32, word: usize) -> &AtomicU64 {
        &self.remote[word / 8 % 8][unit as usize % UNITS][word % 8]
    }
}

impl Arena {
    /// The units that can ever be free: all except guards.
    pub(crate) fn whole(&self) -> u64 {
        if self.has_guards.get() == 1 {
            !ENDS
        } else {
            u64::MAX
        }
    }

    /// The address at which a unit begins.
    pub(crate) fn unit_base(&self, at: u32) -> usize {
        self.base.get() + ((at as usize) << UNIT_SHIFT)
    }

    /// The units of each huge page with one of these units, as long as it has not been split.
    pub(crate) fn huge_pages(&self, units: u64) -> impl Iterator<Item = u64> {
        let unsplit = self.unsplit.get();
        let pages = (0..HUGE_PAGES).filter(move |page| unsplit & 1 << page != 0);
        let all = pages.map(|page| run(page * HUGE_UNITS, HUGE_UNITS as usize));
        all.filter(move |page| page & units != 0)
    }

    /// The units of the huge pages of which only a part is among these units.
    pub(crate) fn partly_in(&self, units: u64) -> u64 {
        let pages = self.huge_pages(units).filter(|page| page & !units != 0);
        pages.fold(0, |all, page| all | page)
    }

    /// Records that the huge pages of these units have been split. Under the pool's latch.
    pub(crate) fn note_split(&self, units: u64) {
        let stays = |page: &u32| units & run(page * HUGE_UNITS, 1) == 0;
        let left = (0..HUGE_PAGES)
            .filter(stays)
            .fold(0, |all, page| all | 1 << page);
        self.unsplit.set(self.unsplit.get() & left);
    }
}

/// The most units that one run may have: half an arena.
pub(crate) const RUN_MAX: usize = 32;

/// As [`find`], from a unit on; below it, if there is none above.
pub(crate) fn find_from(start: u8, set: u64, len: usize, align: usize) -> Option<u32> {
    let above = if start == 0 {
        0
    } else {
        set & u64::MAX << start
    };
    find(above, len, align).or_else(|| find(set, len, align))
}
