//! The record of a unit: its owner, its division into blocks, and its free blocks.

use crate::sync::atomic::AtomicU64;
use crate::sync::record;

use crate::malloc::{Bits, Byte, Class, Fixed, Half, Heap, Link, Short, UNIT_SHIFT};

/// The use of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Use {
    /// Free, or not this allocator's.
    Nothing,
    /// The first unit of a span with blocks of one class.
    Blocks,
    /// A later unit of a span or of a large object.
    Rest,
    /// The first unit of a large object.
    Large,
    /// The first unit of a huge object.
    Huge,
    /// Addresses of blocks of no bytes, inaccessible.
    Empty,
    /// Inaccessible.
    Guard,
    /// The first unit of a run for a block with guard pages.
    Guarded,
}

/// The unit of a fence's length: that of the smallest pages.
pub(crate) const FENCE_GRAIN: usize = 4096;

/// A value of `listed`: the span is in its heap's list, which has all spans with blocks left to
/// give.
pub(crate) const LISTED: u8 = 1;
/// The span is not in its list yet; its maker will add it under the heap's latch.
pub(crate) const MAKING: u8 = 2;
/// The span has no blocks left to give, and is in the list of such spans, which only a zone has.
pub(crate) const FULL: u8 = 3;

record! {
    /// The record of a unit, in a cache line of its own; all zeros if the unit has none.
    ///
    /// All fields but the last two belong to the owner, under its heap's latch. A thread with a
    /// live block in the unit may read `owner`, `magic` and `class` without it. Of these only
    /// `owner` can change meanwhile, if another heap takes over the span.
    #[derive(Debug)]
    #[repr(C, align(64))]
    pub(crate) struct Span {
        /// The owning heap; set only in first units of spans. Without an owner frees take the slow
        /// path.
        pub(crate) owner: Link<Heap> = Link::none(),
        /// See [`Class::magic`]; 0 if frees take the slow path. `limit` is a copy, so that each of
        /// the two uses is one instruction with a memory operand.
        pub(crate) magic: Fixed<u32> = Fixed::new(0),
        pub(crate) limit: Fixed<u32> = Fixed::new(0),
        pub(crate) class: Fixed<u8> = Fixed::new(0),
        used_for: Byte = Byte::new(0),
        /// The number of blocks, from the first, that were ever given to a heap; the others were
        /// never touched.
        pub(crate) carved: Short = Short::new(0),
        /// The number of bits set in its words: its free blocks that no heap keeps.
        pub(crate) free: Short = Short::new(0),
        /// The list that it is in: [`LISTED`], [`MAKING`] or [`FULL`]; 0 in none.
        pub(crate) listed: Byte = Byte::new(0),
        /// The number of the stack for its freed blocks: its class's number, unless blocks are
        /// sampled.
        pub(crate) bin: Fixed<u8> = Fixed::new(0),
        /// The set of its non-zero words. For large and huge objects the length; for a block with
        /// guard pages its size and place; for later units the number of the first unit.
        pub(crate) summary: Bits = Bits::new(0),
        /// Its neighbours in that list, by unit; 0 is none.
        pub(crate) next: Half = Half::new(0),
        pub(crate) prev: Half = Half::new(0),
        /// The number of its unit.
        pub(crate) unit: Half = Half::new(0),
        /// The number of free blocks at its heap's last round, or the largest number if blocks were
        /// taken since; and 1 if their memory has been purged since.
        pub(crate) quiet: Short = Short::new(0),
        pub(crate) purged: Byte = Byte::new(0),
        /// The length of its [fence](super::fence), in 4 KiB. An object's length is without it.
        pub(crate) fence: Byte = Byte::new(0),
        /// The set of its remote words that may have bits. Non-zero exactly while the span is in a
        /// heap's queue or on its way there, or while a thread is about to find that it has no
        /// owner.
        pub(crate) posted: AtomicU64 = AtomicU64::new(0),
        /// The next span in the queue.
        pub(crate) link: Link<Self> = Link::none(),
    }
    pub(crate) const fn none;
}

impl Span {
    #[inline]
    pub(crate) fn is(&self, what: Use) -> bool {
        self.used_for.get() == what as u8
    }

    pub(crate) fn use_for(&self, what: Use) {
        self.used_for.set(what as u8);
    }

    /// Prepares a record: a span that begins here has blocks of this class, none of them carved,
    /// and this stack for freed ones.
    pub(crate) fn cut(&self, base: usize, class: Class, bin: u8) {
        self.unit.set(unit_of(base));
        self.class.set(class.number());
        self.bin.set(bin);
        self.magic.set(class.magic());
        self.limit.set(class.magic());
        self.carved.set(0);
        self.free.set(0);
        self.fence.set(0);
        self.summary.set(0);
    }

    pub(crate) fn class(&self) -> Class {
        Class::numbered(usize::from(self.class.get()))
    }

    /// The address at which its unit begins.
    pub(crate) fn base(&self) -> usize {
        base_of(self.unit.get())
    }

    /// The number of the block at an address; `None` if no block that was ever handed out begins
    /// there.
    #[inline]
    pub(crate) fn block_at(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base());
        let number = match self.magic.get() {
            0 => self.class().block_at(offset)?,
            magic => Class::block_by(magic, offset)?,
        };
        (number < usize::from(self.carved.get())).then_some(number)
    }

    /// The number of the block that has the byte at an address of the span.
    #[inline(always)]
    pub(crate) fn block_around(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.base());
        match self.magic.get() {
            0 => offset / self.class().size(),
            magic => ((offset as u64 * u64::from(magic)) >> 32) as usize,
        }
    }

    /// The address at which a block begins.
    #[inline]
    pub(crate) fn address_of(&self, block: usize) -> usize {
        self.base() + block * self.class().size()
    }

    /// The number of bytes of its fence.
    pub(crate) fn fence_len(&self) -> usize {
        usize::from(self.fence.get()) * FENCE_GRAIN
    }

    /// The number of blocks that it has room for.
    pub(crate) fn blocks(&self) -> usize {
        self.class().blocks(self.fence_len())
    }

    /// The number of blocks that a span has left to give.
    pub(crate) fn available(&self) -> usize {
        let untouched = self.blocks() - usize::from(self.carved.get());
        usize::from(self.free.get()) + untouched
    }

    /// The number of words that its blocks need, in eights.
    #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
    pub(crate) fn eights(&self) -> u8 {
        self.blocks().div_ceil(8 * 64) as u8
    }

    /// True if a span has no blocks left to give.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.summary.get() == 0 && usize::from(self.carved.get()) == self.blocks()
    }
}

/// The number of the unit at an address, of which only the lower 48 bits count.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "32 bits count")]
pub(crate) fn unit_of(address: usize) -> u32 {
    (address >> UNIT_SHIFT) as u32
}

/// The address at which a unit begins: 48 bits, sign-extended.
#[inline(always)]
#[expect(clippy::cast_possible_wrap, reason = "the sign is what is extended")]
pub(crate) fn base_of(unit: u32) -> usize {
    ((unit as i32 as isize) << UNIT_SHIFT).cast_unsigned()
}
