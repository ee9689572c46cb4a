//! Freed blocks of one word of one span: what is given back, or posted, in one step.
#![forbid(unsafe_code)]

use super::{
    allocator::Malloc,
    class::{Class, UNIT, UNIT_SHIFT},
    config::Config,
    exchange::Exchange,
    heap::Heap,
    span::Span,
};

/// Neighbours among freed blocks, as they are met.
pub(crate) struct Group {
    /// None in a group that is empty.
    pub(crate) span: Option<&'static Span>,
    pub(crate) word: usize,
    pub(crate) bits: u64,
    /// Of the span, read once: its unit's number, its magic number, and its carved blocks.
    unit: usize,
    magic: u32,
    carved: usize,
}

impl Group {
    /// Without blocks: nothing can be added to it.
    pub(crate) const EMPTY: Self = Self {
        span: None,
        word: 0,
        bits: 0,
        unit: usize::MAX,
        magic: 0,
        carved: 0,
    };

    fn of(span: &'static Span, block: usize) -> Self {
        Self {
            span: Some(span),
            word: block / 64,
            bits: 1 << (block % 64),
            unit: span.base() >> UNIT_SHIFT,
            magic: span.magic.get(),
            carved: usize::from(span.carved.get()),
        }
    }

    /// Adds a block, if it is of the same word and not in the group yet. Medium blocks are groups
    /// of their own.
    #[inline(always)]
    pub(crate) fn add(&mut self, address: usize) -> bool {
        if address >> UNIT_SHIFT != self.unit {
            return false;
        }
        let Some(block) = Class::block_by(self.magic, address & (UNIT - 1)) else {
            return false;
        };
        let bit = 1 << (block % 64);
        if block / 64 != self.word || self.bits & bit != 0 || block >= self.carved {
            return false;
        }
        self.bits |= bit;
        true
    }
}

impl<C: Config> Malloc<C> {
    /// A group of one block. Stops the program where none begins.
    pub(crate) fn group_of(&'static self, address: usize) -> Group {
        let (span, block) = self.find_block(address);
        Group::of(span, block)
    }

    /// Gives a group back to its span, whose heap's latch is held.
    pub(crate) fn give_group(&'static self, heap: &'static Heap, group: &Group) {
        if let Some(span) = group.span {
            self.give_blocks(heap, span, group.word, group.bits);
        }
    }
}
