//! Freed blocks of one word of one span, which are given back in one step.
#![forbid(unsafe_code)]

use crate::malloc::{
    central::span::Span,
    class::{Class, UNIT},
    config::{Config, Hardening},
    front::malloc::Malloc,
    os::{source::Misuse, system::stop},
};

use super::{exchange::Exchange, heap::Heap};

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
}

impl<C: Config> Malloc<C> {
    /// A batch of one block. Stops the program if no block begins there.
    pub(crate) fn batch_of(&'static self, address: usize) -> FreeBatch {
        let (span, block) = self.find_block(address);
        FreeBatch::of(span, block)
    }

    /// Gives a batch back to its span, whose heap's latch is held. Stops the program if one of its
    /// blocks was never handed out.
    pub(crate) fn give_batch(&'static self, heap: &'static Heap, batch: FreeBatch) {
        let Some(span) = batch.span else {
            return;
        };
        let last = batch.first + 63 - batch.bits.leading_zeros() as usize;
        if last >= usize::from(span.carved.get()) {
            stop(&self.source, Misuse::NotABlock, span.address_of(last));
        }
        self.give_blocks(heap, span, batch.first / 64, batch.bits);
    }

    /// Gives the oldest blocks of a stack back to their spans. The heap's latch is held.
    pub(crate) fn flush(&'static self, heap: &'static Heap, class: Class, count: usize) {
        let mut open = FreeBatch::EMPTY;
        heap.cache.bins.drain(class, count, |address| {
            if !open.add(address, C::Hardening::CHECK) {
                self.give_batch(heap, open);
                open = self.batch_of(address);
            }
        });
        self.give_batch(heap, open);
    }
}
