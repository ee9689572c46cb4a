//! Size classes: the sizes to which requests are rounded up.
//!
//! Up to 1 KiB the classes are multiples of 16 bytes. Up to 8 KiB they are sizes of which a whole
//! number, from 60 down to 8, fills a unit. Up to 64 KiB there are four steps a doubling. A request
//! of at most 1 KiB wastes at most 15 bytes; a larger one at most a fifth of its block. A span
//! without a fence wastes at most a sixteenth at its end.
#![forbid(unsafe_code)]

use super::FREED;

/// The unit into which arenas are cut: 64 KiB.
pub(crate) const UNIT: usize = 1 << UNIT_SHIFT;
pub(crate) const UNIT_SHIFT: u32 = 16;

/// Block sizes and alignments are multiples of it.
pub(crate) const GRAIN: usize = 16;

/// The largest size whose class is its number of grains.
pub(crate) const FINE_MAX: usize = 1024;
/// The largest size whose spans are one unit.
pub(crate) const SMALL_MAX: usize = 8192;
/// The largest size that has a class.
pub(crate) const MEDIUM_MAX: usize = 65536;

/// Units of a span of medium blocks: up to 32 KiB, and above.
const MEDIUM_UNITS: [usize; 2] = [4, 8];

const FINE: usize = FINE_MAX / GRAIN;
/// Blocks in a unit, for each class between 1 KiB and 8 KiB.
const FILLS: [usize; 24] = [
    60, 56, 52, 48, 44, 40, 36, 32, 30, 28, 26, 24, 22, 20, 18, 16, 15, 14, 13, 12, 11, 10, 9, 8,
];
const MEDIUM: usize = 12;

/// The number of classes; class 0 has no blocks.
pub(crate) const CLASSES: usize = 1 + FINE + FILLS.len() + MEDIUM;

/// A size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class(u8);

const SIZES: [u32; CLASSES] = sizes();
const SMALL_BY_GRAINS: [u8; SMALL_MAX / GRAIN + 1] = by_grains();

#[expect(
    clippy::cast_possible_truncation,
    reason = "sizes of classes end at 64 KiB"
)]
const fn sizes() -> [u32; CLASSES] {
    let mut sizes = [0; CLASSES];
    let mut class = 1;
    while class <= FINE {
        sizes[class] = (class * GRAIN) as u32;
        class += 1;
    }
    let mut at = 0;
    while at < FILLS.len() {
        sizes[class] = (UNIT / FILLS[at] / GRAIN * GRAIN) as u32;
        class += 1;
        at += 1;
    }
    at = 0;
    while at < MEDIUM {
        let doubling = SMALL_MAX << (at / 4);
        sizes[class] = (doubling + doubling / 4 * (at % 4 + 1)) as u32;
        class += 1;
        at += 1;
    }
    sizes
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "there are fewer than 256 classes"
)]
const fn by_grains() -> [u8; SMALL_MAX / GRAIN + 1] {
    let mut table = [1; SMALL_MAX / GRAIN + 1];
    let mut class = 1;
    let mut grains = 1;
    while grains < table.len() {
        if sizes()[class] < (grains * GRAIN) as u32 {
            class += 1;
        }
        table[grains] = class as u8;
        grains += 1;
    }
    table
}

impl Class {
    /// The class for a request; `None` above [`MEDIUM_MAX`].
    #[inline]
    pub(crate) fn of(size: usize) -> Option<Self> {
        if size <= SMALL_MAX {
            return Some(Self(SMALL_BY_GRAINS[size.div_ceil(GRAIN)]));
        }
        if size > MEDIUM_MAX {
            return None;
        }
        let last = size - 1;
        let doubling = last.ilog2();
        let quarter = (last >> (doubling - 2)) & 3;
        let index = (doubling - SMALL_MAX.ilog2()) as usize * 4 + quarter;
        Some(Self::numbered(1 + FINE + FILLS.len() + index))
    }

    /// The smallest class with room whose blocks are all aligned; `None` if there is no such class.
    /// Spans begin at a unit, so blocks are aligned if the size is a multiple of the alignment.
    pub(crate) fn aligned(size: usize, align: usize) -> Option<Self> {
        let first = Self::of(size.max(align))?;
        (first.index()..CLASSES)
            .map(Self::numbered)
            .find(|class| class.size() % align == 0)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 256 classes"
    )]
    pub(crate) fn numbered(index: usize) -> Self {
        debug_assert!(index < CLASSES);
        Self(index as u8)
    }

    /// The class of a stack's blocks: see [`FREED`](super::FREED).
    pub(crate) fn of_bin(bin: u8) -> Self {
        Self::numbered(usize::from(bin) % FREED)
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// The classes of medium blocks.
    pub(crate) fn medium() -> impl Iterator<Item = Self> {
        (CLASSES - MEDIUM..CLASSES).map(Self::numbered)
    }

    /// The size of its blocks.
    #[inline]
    pub(crate) fn size(self) -> usize {
        SIZES[self.index()] as usize
    }

    /// The number of units of its spans.
    #[inline]
    pub(crate) fn units(self) -> usize {
        match self.size() {
            small if small <= SMALL_MAX => 1,
            medium => MEDIUM_UNITS[usize::from(medium > MEDIUM_MAX / 2)],
        }
    }

    /// The number of blocks in its spans, which end with a fence of so many bytes.
    #[inline]
    pub(crate) fn blocks(self, fence: usize) -> usize {
        (self.units() * UNIT - fence) / self.size()
    }

    /// The factor for an offset in a unit. The upper half of the product is the block's number; the
    /// lower half is less than the factor exactly at a block's start. 0 for medium blocks, for
    /// which 32 bits are not enough.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 2^28: sizes begin at 16"
    )]
    pub(crate) fn magic(self) -> u32 {
        if self.size() > SMALL_MAX {
            return 0;
        }
        (1_u64 << 32).div_ceil(self.size() as u64) as u32
    }

    /// The number of the block that begins at an offset in a span; `None` if no block begins there.
    #[inline]
    pub(crate) fn block_at(self, offset: usize) -> Option<usize> {
        match self.magic() {
            0 if offset >= self.units() * UNIT => None,
            0 => offset
                .is_multiple_of(self.size())
                .then(|| offset / self.size()),
            magic => Self::block_by(magic, offset),
        }
    }

    /// [`block_at`](Self::block_at) for small blocks, by the magic number of their class.
    #[inline]
    pub(crate) fn block_by(magic: u32, offset: usize) -> Option<usize> {
        let number = Self::block_within(magic, offset)?;
        (offset < UNIT).then_some(number)
    }

    /// The same, for an offset that is within the unit.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half is what is compared"
    )]
    pub(crate) fn block_within(magic: u32, offset: usize) -> Option<usize> {
        let product = (offset as u64).wrapping_mul(u64::from(magic));
        ((product as u32) < magic).then_some((product >> 32) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Class, FINE_MAX, GRAIN, MEDIUM_MAX, SMALL_MAX, UNIT};
    use super::{SIZES, SMALL_BY_GRAINS, by_grains, sizes};

    #[test]
    fn tables_that_are_made_while_the_program_runs_are_those_of_the_compiler() {
        assert_eq!(sizes(), SIZES);
        assert_eq!(by_grains(), SMALL_BY_GRAINS);
    }

    #[test]
    fn every_request_gets_the_smallest_class_that_holds_it() {
        for size in 0..=MEDIUM_MAX {
            let class = Class::of(size).expect("there are classes up to here");
            assert!(class.index() > 0 && class.size() >= size, "{size}");
            let smaller = (1..class.index()).map(Class::numbered);
            assert!(
                smaller.into_iter().all(|class| class.size() < size),
                "{size}"
            );
        }
        assert_eq!(Class::of(MEDIUM_MAX + 1), None);
        assert_eq!(Class::of(usize::MAX), None);
    }

    #[test]
    fn waste_is_bounded_in_every_block_and_every_span() {
        for size in 1..=MEDIUM_MAX {
            let got = Class::of(size)
                .expect("there are classes up to here")
                .size();
            let most = if size <= FINE_MAX { GRAIN - 1 } else { got / 5 };
            assert!(got - size <= most, "{size} got {got}");
        }
        for class in (1..CLASSES).map(Class::numbered) {
            let span = class.units() * UNIT;
            let rest = span - class.blocks(0) * class.size();
            assert!(
                rest <= span / 16 && class.blocks(0) >= 8,
                "{class:?} leaves {rest}"
            );
            assert_eq!(class.size() % GRAIN, 0);
        }
    }

    #[test]
    fn blocks_are_told_from_their_insides_at_every_offset() {
        for class in (1..CLASSES).map(Class::numbered) {
            for offset in 0..class.units() * UNIT + 1 {
                let starts = offset % class.size() == 0 && offset < class.units() * UNIT;
                let number = starts.then_some(offset / class.size());
                assert_eq!(class.block_at(offset), number, "{class:?} {offset}");
            }
        }
    }

    #[test]
    fn small_classes_have_a_magic_number_that_is_the_reciprocal_of_their_size() {
        for class in (1..CLASSES).map(Class::numbered) {
            let (size, magic) = (class.size() as u64, u64::from(class.magic()));
            if class.size() <= SMALL_MAX {
                assert!(magic * size >= 1 << 32 && (magic - 1) * size < 1 << 32);
            } else {
                assert_eq!(magic, 0);
            }
            assert_eq!(Class::medium().any(|medium| medium == class), magic == 0);
        }
    }

    #[test]
    fn aligned_requests_get_blocks_that_are_multiples() {
        for align in (4..=16).map(|shift| 1 << shift) {
            for size in (0..=MEDIUM_MAX).step_by(61) {
                let class = Class::aligned(size, align).expect("64 KiB is aligned to all of them");
                assert!(class.size() >= size && class.size().is_multiple_of(align));
            }
        }
        assert_eq!(Class::aligned(1, 2 * MEDIUM_MAX), None);
        assert!(Class::of(SMALL_MAX).is_some_and(|class| class.units() == 1));
    }
}
