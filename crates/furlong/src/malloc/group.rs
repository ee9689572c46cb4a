//! Freed blocks of one word of one span: what is given back, or posted, in one step.
#![forbid(unsafe_code)]

use super::{allocator::Malloc, class::UNIT_SHIFT, config::Config, heap::Heap, span::Span};

/// Neighbours among freed blocks, as they are met.
#[derive(Default)]
pub(crate) struct Group {
    /// None in a group that is empty.
    pub(crate) span: Option<&'static Span>,
    pub(crate) word: usize,
    pub(crate) bits: u64,
}

impl Group {
    /// Adds a block, if it is of the same word and not in the group yet.
    #[inline]
    pub(crate) fn add(&mut self, address: usize) -> bool {
        let Some(span) = self.span else {
            return false;
        };
        // Later units of a span of several are found by their own records.
        if address >> UNIT_SHIFT != span.base() >> UNIT_SHIFT {
            return false;
        }
        let Some(block) = span.block_at(address) else {
            return false;
        };
        let bit = 1 << (block % 64);
        let same = block / 64 == self.word && self.bits & bit == 0;
        self.bits |= if same { bit } else { 0 };
        same
    }
}

impl<C: Config> Malloc<C> {
    /// A group of one block. Stops the program where none begins.
    pub(crate) fn group_of(&'static self, address: usize) -> Group {
        let (span, block) = self.find_block(address);
        Group {
            span: Some(span),
            word: block / 64,
            bits: 1 << (block % 64),
        }
    }

    /// Gives a group back to its span, whose heap's latch is held.
    pub(crate) fn give_group(&'static self, heap: &'static Heap, group: &Group) {
        if let Some(span) = group.span {
            self.give_blocks(heap, span, group.word, group.bits);
        }
    }
}
