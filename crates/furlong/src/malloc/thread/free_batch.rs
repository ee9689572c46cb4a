//! Freed blocks of one word of one span, which are given back in one step.
#![forbid(unsafe_code)]

use crate::malloc::{Central, Config, Misuse, Span, ThreadHeap, UNIT, stop};

/// Adjacent freed blocks, in the order in which they are found.
#[derive(Clone, Copy)]
pub(crate) struct FreeBatch {
    /// `None` in an empty batch.
    span: Option<&'static Span>,
    /// The first block of the word.
    first: usize,
    bits: u64,
    /// The start of its unit and its magic number, cached.
    base: usize,
    magic: u32,
}

/// A base from which no block has an offset of less than a unit.
const NOWHERE: usize = usize::MAX;

impl FreeBatch {
    /// An empty batch, to which no block can be added.
    pub(crate) const EMPTY: Self = Self {
        span: None,
        first: 0,
        bits: 0,
        base: NOWHERE,
        magic: 0,
    };

    /// A batch of one block. Medium blocks are never batched: their base is [`NOWHERE`].
    fn of(span: &'static Span, block: usize) -> Self {
        let magic = span.magic.get();
        Self {
            span: Some(span),
            first: block & !63,
            bits: 1 << (block % 64),
            base: if magic == 0 { NOWHERE } else { span.base() },
            magic,
        }
    }

    /// Adds a block, if it is of the same word and not in the batch yet. `is_known` says that the
    /// address was checked to be a block's start when the block was freed.
    #[inline(always)]
    pub(crate) fn add(&mut self, address: usize, is_known: bool) -> bool {
        let offset = address.wrapping_sub(self.base);
        if offset >= UNIT {
            return false;
        }
        let product = (offset as u64).wrapping_mul(u64::from(self.magic));
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let begins = is_known || (product as u32) < self.magic;
        let at = ((product >> 32) as usize).wrapping_sub(self.first);
        if !begins || at >= 64 || self.bits >> at & 1 == 1 {
            return false;
        }
        self.bits |= 1 << at;
        true
    }

    /// A batch of one block. Stops the program if no block begins there.
    pub(crate) fn at<C: Config>(central: &'static Central<C>, address: usize) -> Self {
        let (span, block) = central.find_block(address);
        Self::of(span, block)
    }

    /// Gives the batch back to its span, which is the heap's. The heap's latch is held. Stops the
    /// program if one of its blocks was never handed out.
    pub(crate) fn give_to<C: Config>(self, own: ThreadHeap<C>) {
        let Some(span) = self.span else {
            return;
        };
        let last = self.first + 63 - self.bits.leading_zeros() as usize;
        if last >= usize::from(span.carved.get()) {
            let address = span.address_of(last);
            stop(&own.central.source, Misuse::NotABlock, address);
        }
        own.give_blocks(span, self.first / 64, self.bits);
    }
}
