//! The record of a unit: whose it is, how it is cut, and which of its blocks are free.
#![forbid(unsafe_code)]

use crate::sync::{atomic::AtomicU64, const_unless_loom};

use super::{
    class::{Class, UNIT_SHIFT},
    field::{Bits, Byte, Fixed, Half, Link, Short},
    heap::Heap,
};

/// What a unit is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Use {
    /// Not this allocator's, or free.
    Nothing,
    /// The first unit of a span with blocks of one class.
    Blocks,
    /// A later unit of a span or of a large object.
    Rest,
    /// The first unit of an object of its own units.
    Large,
    /// The first unit of an object that the system mapped for itself.
    Huge,
    /// Inaccessible.
    Guard,
}

/// In place of whether a span is listed: it is not yet. Its maker will, under its heap's latch.
pub(crate) const MAKING: u8 = 2;

/// The record of a unit, in a cache line of its own; all zeros where there is none.
///
/// The owner's, under its heap's latch, are all fields but the last two; anybody may read
/// `owner`, `magic` and `class` of a unit in which he has a live block, as none of them changes
/// then but the owner, by adoption.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Span {
    /// The heap whose span it is; none where frees go the slow way: all but first units of spans.
    pub(crate) owner: Link<Heap>,
    /// As [`Class::magic`] says, and 0 where frees go the slow way; twice, so that both uses are of
    /// one instruction.
    pub(crate) magic: Fixed<u32>,
    pub(crate) limit: Fixed<u32>,
    pub(crate) class: Fixed<u8>,
    used_for: Byte,
    /// Blocks from the beginning that were ever given to a heap; the others were never touched.
    pub(crate) carved: Short,
    /// How many bits are set in its words: its free blocks that no heap keeps.
    pub(crate) free: Short,
    /// Whether it is in its heap's list, where all spans are that have something to give.
    pub(crate) listed: Byte,
    /// Which of its words have bits; of large and huge objects the length; of later units the
    /// number of the first.
    pub(crate) summary: Bits,
    /// Its neighbours in that list, by unit; 0 is none.
    pub(crate) next: Half,
    pub(crate) prev: Half,
    /// The number of its unit.
    pub(crate) unit: Half,
    /// How many blocks were free in its heap's last round, and whether their memory has been purged
    /// since.
    pub(crate) quiet: Short,
    pub(crate) purged: Byte,
    /// Which of its remote words may have bits; not 0 exactly while it is in a heap's queue, or
    /// on the way there, or somebody is about to see that it has no owner.
    pub(crate) posted: AtomicU64,
    /// The next one in the queue.
    pub(crate) link: Link<Self>,
}

impl Span {
    const_unless_loom! {
        pub(crate) const fn none() -> Self {
            Self {
                owner: Link::none(),
                magic: Fixed::new(0),
                limit: Fixed::new(0),
                class: Fixed::new(0),
                used_for: Byte::new(0),
                carved: Short::new(0),
                free: Short::new(0),
                listed: Byte::new(0),
                summary: Bits::new(0),
                next: Half::new(0),
                prev: Half::new(0),
                unit: Half::new(0),
                quiet: Short::new(0),
                purged: Byte::new(0),
                posted: AtomicU64::new(0),
                link: Link::none(),
            }
        }
    }

    #[inline]
    pub(crate) fn is(&self, what: Use) -> bool {
        self.used_for.get() == what as u8
    }

    pub(crate) fn use_for(&self, what: Use) {
        self.used_for.set(what as u8);
    }

    pub(crate) fn class(&self) -> Class {
        Class::numbered(usize::from(self.class.get()))
    }

    /// Where its unit begins.
    pub(crate) fn base(&self) -> usize {
        base_of(self.unit.get())
    }

    /// The number of a block, or nothing where none begins that was ever given out.
    #[inline]
    pub(crate) fn block_at(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base());
        let number = match self.magic.get() {
            0 => self.class().block_at(offset)?,
            magic => Class::block_by(magic, offset)?,
        };
        (number < usize::from(self.carved.get())).then_some(number)
    }

    /// Where a block begins.
    #[inline]
    pub(crate) fn address_of(&self, block: usize) -> usize {
        self.base() + block * self.class().size()
    }
}

/// The number of the unit at an address: what counts of the address is its lower 48 bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "32 bits count")]
pub(crate) fn unit_of(address: usize) -> u32 {
    (address >> UNIT_SHIFT) as u32
}

/// Where a unit begins: 48 bits, sign-extended.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "the sign is what is extended")]
pub(crate) fn base_of(unit: u32) -> usize {
    ((unit as i32 as isize) << UNIT_SHIFT).cast_unsigned()
}
