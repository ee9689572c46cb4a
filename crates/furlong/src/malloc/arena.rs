//! Arenas: 4 MiB of address space, cut into 64 units, and the words that say which blocks are free.
#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU64;

use super::{
    class::{UNIT, UNIT_SHIFT},
    field::{Bits, Byte, Half, Link, Word},
};

/// Units of an arena.
pub(crate) const UNITS: usize = 64;
/// Bytes of an arena, and its alignment.
pub(crate) const ARENA: usize = UNITS * UNIT;

/// An arena. All fields are the pool's, under its latch, but `base`, `whole` and `words`, which
/// never change while it is mapped. What is not mapped is in no list, and has the base 0.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Arena {
    pub(crate) base: Word,
    /// The units that can ever be free: all but guards.
    pub(crate) whole: Bits,
    /// Units that nobody has.
    pub(crate) free: Bits,
    /// Units among them that may have memory behind them and may not be zeros.
    pub(crate) dirty: Bits,
    /// Of those, the ones that have been so since the last round: what nobody takes until the next
    /// one is purged.
    pub(crate) idle: Bits,
    /// Units that are neither free nor in use: somebody is about to give their memory back.
    pub(crate) leaving: Bits,
    pub(crate) words: Link<Words>,
    /// The next one in the order in which they were made.
    pub(crate) next: Link<Self>,
    pub(crate) prev: Link<Self>,
    /// Its number in that order, which no other ever has.
    pub(crate) order: Word,
    /// The next one in the order in which they became dirty.
    pub(crate) next_dirty: Link<Self>,
    pub(crate) queued: Byte,
    /// The last round that has seen it.
    pub(crate) round: Half,
}

/// 64 blocks a word, up to 64 words a unit. The first eight words of all units come first, each
/// unit's in a cache line of its own, then the next eight: spans of few blocks touch few pages.
type Lines<T> = [[[T; 8]; UNITS]; 8];

/// The words of an arena's units.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Words {
    free: Lines<Bits>,
    remote: Lines<AtomicU64>,
}

impl Words {
    /// Blocks that are free and that no heap keeps: the owner's.
    #[inline]
    pub(crate) fn free(&self, unit: u32, word: usize) -> &Bits {
        &self.free[word / 8 % 8][unit as usize % UNITS][word % 8]
    }

    /// Blocks that others freed: anybody's.
    #[inline]
    pub(crate) fn remote(&self, unit: u32, word: usize) -> &AtomicU64 {
        &self.remote[word / 8 % 8][unit as usize % UNITS][word % 8]
    }
}

impl Arena {
    /// Where a unit of it begins.
    pub(crate) fn unit_base(&self, at: u32) -> usize {
        self.base.get() + ((at as usize) << UNIT_SHIFT)
    }
}
