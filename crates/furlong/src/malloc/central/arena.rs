//! Arenas: 4 MiB of address space, cut into 64 units; runs of units; and the words that say which
//! blocks are free.

use crate::sync::atomic::AtomicU64;

use crate::malloc::{Bits, Byte, Half, Link, UNIT, UNIT_SHIFT, Word};

use super::fit::Branch;

/// Units of an arena.
pub(crate) const UNITS: usize = 64;
/// Bytes of an arena, and its alignment.
pub(crate) const ARENA: usize = UNITS * UNIT;

/// An arena. All fields belong to the pool, under its latch, except `base`, `whole` and `words`,
/// which never change while it is mapped. An unmapped arena is in no list and has base 0.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Arena {
    pub(crate) base: Word,
    /// The units that can ever be free: all except guards.
    pub(crate) whole: Bits,
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
    pub(crate) words: Link<Words>,
    /// The next arena in order of creation.
    pub(crate) next: Link<Self>,
    pub(crate) prev: Link<Self>,
    pub(crate) branch: Branch,
    /// The next arena in the order in which they became dirty.
    pub(crate) next_dirty: Link<Self>,
    pub(crate) queued: Byte,
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
    /// The address at which a unit begins.
    pub(crate) fn unit_base(&self, at: u32) -> usize {
        self.base.get() + ((at as usize) << UNIT_SHIFT)
    }
}

/// The most units that one run may have: half an arena.
pub(crate) const RUN_MAX: usize = 32;

/// The bits of a run of `len` units that begins at unit `at`.
pub(crate) fn run(at: u32, len: usize) -> u64 {
    debug_assert!(len >= 1 && at as usize + len <= 64);
    (u64::MAX >> (64 - len)) << at
}

/// The first unit at a multiple of `align` from which `len` units are in the set.
pub(crate) fn find(set: u64, len: usize, align: usize) -> Option<u32> {
    let mut starts = set;
    let mut have = 1;
    while have < len {
        let step = have.min(len - have);
        starts &= starts >> step;
        have += step;
    }
    starts &= if align >= 64 {
        1
    } else {
        u64::MAX / ((1 << align) - 1)
    };
    (starts != 0).then(|| starts.trailing_zeros())
}

/// As [`find`], from a unit on; below it, if there is none above.
pub(crate) fn find_from(start: u8, set: u64, len: usize, align: usize) -> Option<u32> {
    let above = if start == 0 {
        0
    } else {
        set & u64::MAX << start
    };
    find(above, len, align).or_else(|| find(set, len, align))
}

/// The length of the longest run of a set.
pub(crate) fn longest(set: u64) -> usize {
    // The units from which runs of 1, 2, 4, 8, 16 and 32 units are in the set.
    let mut starts = [set; 6];
    for at in 1..6 {
        starts[at] = starts[at - 1] & starts[at - 1] >> (1 << (at - 1));
    }
    let (mut len, mut from) = (0, u64::MAX);
    for at in (0..6).rev() {
        let more = from & starts[at].checked_shr(len).unwrap_or(0);
        if more != 0 {
            (len, from) = (len + (1 << at), more);
        }
    }
    len as usize + usize::from(set == u64::MAX)
}

/// The maximal runs of a set, in ascending order.
pub(crate) fn runs(mut set: u64) -> impl Iterator<Item = (u32, usize)> {
    core::iter::from_fn(move || {
        let at = (set != 0).then(|| set.trailing_zeros())?;
        let len = (!(set >> at)).trailing_zeros().min(64 - at);
        set &= u64::MAX.checked_shl(at + len).unwrap_or(0);
        Some((at, len as usize))
    })
}

#[cfg(test)]
mod tests {
    use super::{RUN_MAX, find, longest, run, runs};

    /// As `find`, by trying every unit.
    fn slowly(set: u64, len: usize, align: usize) -> Option<u32> {
        let fits = |at: &usize| at + len <= 64 && (*at..at + len).all(|unit| set >> unit & 1 == 1);
        (0..64)
            .step_by(align)
            .find(fits)
            .map(|at| u32::try_from(at).expect("below 64"))
    }

    fn sets() -> impl Iterator<Item = u64> {
        let mut x = 0x2545_f491_4f6c_dd1d_u64;
        let random = (0..500).map(move |round| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if round % 2 == 0 {
                x
            } else {
                x | x >> 3 | x << 5
            }
        });
        random.chain([0, 1, u64::MAX, u64::MAX >> 1, 1 << 63, u64::MAX << 32])
    }

    #[test]
    fn the_first_aligned_run_is_found_in_every_set() {
        for set in sets() {
            for len in 1..=RUN_MAX {
                for align in [1, 2, 4, 8, 16, 32, 64] {
                    assert_eq!(
                        find(set, len, align),
                        slowly(set, len, align),
                        "{set:x} {len}"
                    );
                }
            }
        }
    }

    #[test]
    fn runs_are_disjoint_and_make_up_the_set() {
        for set in sets() {
            let mut sum = 0;
            for (at, len) in runs(set) {
                let bits = run(at, len);
                assert_eq!(sum & (bits | bits << 1), 0);
                sum |= bits;
            }
            assert_eq!(sum, set);
            let all = runs(set).map(|(_, len)| len);
            assert_eq!(longest(set), all.max().unwrap_or(0), "{set:x}");
        }
        assert_eq!(run(60, 4), 0xf << 60);
    }
}
