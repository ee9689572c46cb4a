//! The part of a heap that only its thread uses: free blocks at hand, and freed blocks on their
//! way.
#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU8;
use crate::sync::record;

use crate::malloc::{Bits, Byte, CLASSES, Class, Half, Span, Word};

use super::bins::Bins;
use super::outgoing::Outgoing;

/// The number of freed blocks that a heap delays.
pub(crate) const WAITING: usize = 128;

/// A slot for a freed block that is delayed. The byte below the block's address holds the number of
/// its stack, so that the span need not be read.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Waiting(Word);

impl Waiting {
    const fn nothing() -> Self {
        Self(Word::new(0))
    }

    /// The block and its stack, if the slot is used. No stack that is used is 0.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<(usize, u8)> {
        let place = self.0.get();
        #[expect(clippy::cast_possible_truncation, reason = "the lowest byte")]
        let bin = place as u8;
        (place != 0).then(|| ((place.cast_signed() >> 8).cast_unsigned(), bin))
    }

    /// Addresses are 48 bits, sign-extended, so the shift loses nothing.
    #[inline(always)]
    fn put(&self, block: usize, bin: u8) {
        self.0.set(block << 8 | usize::from(bin));
    }

    pub(crate) fn forget(&self) {
        self.0.set(0);
    }
}

record! {
    /// The part of a heap that only its thread touches while it runs.
    #[derive(Debug)]
    #[repr(C)]
    pub(crate) struct ThreadCache {
        pub(crate) bins: Bins = Bins::nothing(),
        /// The mark in the first word of free blocks; a secret of the process.
        pub(crate) mark: Word = Word::new(0),
        /// The number with which its thread takes latches, and the flag that it holds them all; 0
        /// is unknown.
        pub(crate) caller: Half = Half::new(0),
        /// The time of its last round, or of its first look at the clock; 0 before.
        pub(crate) round_ms: Bits = Bits::new(0),
        /// The bytes of blocks that it kept when it ended, and the pool's round at that time; 0
        /// bytes while it runs. Under the pool's latch.
        pub(crate) left: Word = Word::new(0),
        pub(crate) ended_in: Half = Half::new(0),
        /// The number of slow paths until the next look at the clock.
        pub(crate) until_look: Word = Word::new(0),
        /// The number of slow allocations up to the next one that gets guard pages; 0 before the
        /// first.
        pub(crate) until_guarded: Word = Word::new(0),
        /// 1 while its thread is posting: see `send_word` of `remote`.
        pub(crate) posting: AtomicU8 = AtomicU8::new(0),
        /// State for random placement.
        pub(crate) random: Word = Word::new(0),
        /// 1 for each class whose stack ends before a block that is sampled.
        pub(crate) armed: [Byte; CLASSES] = [const { Byte::new(0) }; CLASSES],
        /// For each class, the number of blocks with which its stack is refilled next while blocks
        /// are sampled.
        pub(crate) fills: [Byte; CLASSES] = [const { Byte::new(0) }; CLASSES],
        /// 1 while a sample is reported: what is allocated meanwhile is not sampled.
        pub(crate) reporting: Byte = Byte::new(0),
        /// Blocks of other heaps that were freed here.
        pub(crate) outgoing: Outgoing = Outgoing::new(),
        /// Its own freed blocks that are delayed, under `SHUFFLE`.
        pub(crate) waiting: [Waiting; WAITING] = [const { Waiting::nothing() }; WAITING],
    }
    /// The part of a heap without memory.
    pub(crate) const fn nothing;
}

impl ThreadCache {
    /// Puts a freed block in a random slot of the delayed ones; returns the block that was there.
    #[inline(always)]
    pub(crate) fn delay(&self, block: usize, bin: u8) -> Option<(usize, u8)> {
        let place = &self.waiting[self.next_random() % WAITING];
        let out = place.get();
        place.put(block, bin);
        out
    }

    /// The delayed blocks.
    pub(crate) fn waits(&self) -> impl Iterator<Item = (usize, Class)> {
        let waiting = self.waiting.iter().filter_map(Waiting::get);
        waiting.map(|(block, bin)| (block, Class::of_bin(bin)))
    }

    /// Forgets all delayed blocks.
    pub(crate) fn forget_waiting(&self) {
        self.waiting.iter().for_each(Waiting::forget);
    }

    /// Forgets what the next samples are, and a report that nobody finishes.
    pub(crate) fn forget_samples(&self) {
        self.armed.iter().for_each(|armed| armed.set(0));
        self.reporting.set(0);
    }

    /// True if this heap holds a block, given by number and by address. Another thread may call
    /// this; it sees an old or a new state.
    #[cold]
    pub(crate) fn has(&self, span: &'static Span, block: usize, address: usize) -> bool {
        self.bins.has(span.class(), address)
            || self.outgoing.has(span, block)
            || self.waits().any(|(other, _)| other == address)
    }

    /// A random number below `end`, which is small: nearly uniform, and without a division.
    #[inline(always)]
    pub(crate) fn random_below(&self, end: usize) -> usize {
        const HALF: u32 = usize::BITS / 2;
        ((self.next_random() >> HALF) * end) >> HALF
    }

    /// A random number derived from the heap's secret.
    #[inline(always)]
    pub(crate) fn next_random(&self) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::{Class, ThreadCache, WAITING};

    /// G. Marsaglia's "Xorshift RNGs" (2003), with the shifts 13, 7, 17 and the paper's seed.
    #[test]
    fn random_numbers_are_those_of_the_paper() {
        let cache = ThreadCache::nothing();
        cache.random.set(88_172_645_463_325_252);
        for expected in [
            8_748_534_153_485_358_512,
            3_040_900_993_826_735_515,
            3_453_997_556_048_239_312,
        ] {
            assert_eq!(cache.next_random(), expected);
        }
    }

    #[test]
    fn a_delayed_block_comes_out_once_with_its_class_at_both_ends_of_the_address_space() {
        let (cache, class) = (ThreadCache::nothing(), Class::numbered(100));
        let bin = class.number();
        cache.random.set(1);
        let blocks = [16, 0x7fff_ffff_fff0, usize::MAX << 47, usize::MAX - 15];
        let mut out: Vec<usize> = Vec::new();
        for block in blocks
            .into_iter()
            .chain((1..20 * WAITING).map(|at| at << 8))
        {
            if let Some((old, of)) = cache.delay(block, bin) {
                assert_eq!(of, bin);
                out.push(old);
            }
        }
        out.extend(cache.waits().map(|(block, _)| block));
        assert_eq!(cache.waits().count(), WAITING, "every slot is used");
        out.sort_unstable();
        out.dedup();
        assert_eq!(out.len(), blocks.len() + 20 * WAITING - 1);
        assert!(blocks.iter().all(|block| out.binary_search(block).is_ok()));
        cache.forget_waiting();
        assert_eq!(cache.waits().count(), 0);
    }
}
