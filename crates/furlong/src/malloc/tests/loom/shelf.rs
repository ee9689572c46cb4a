//! The batched tier under loom: the stack of one class, used and refilled by its heap's thread; a
//! policy that a second thread changes; and a third thread that checks if a block is kept.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::array;

use crate::sync::atomic::{AtomicUsize, Ordering};

use super::class::Class;
use super::field::{Bits, Byte, Word};
use super::thread::bins::{Bins, DEPTH, STACKS};

/// The memory of the stacks, aligned to more than they need.
#[derive(Debug)]
#[repr(align(512))]
struct Stacks([Word; STACKS / size_of::<Word>()]);

/// A stack, the policy that it follows, and the span below it. Blocks are numbers from 1.
#[derive(Debug)]
pub struct Shelf {
    bins: Bins,
    /// The number of blocks that the policy lets a heap keep.
    kept: Byte,
    /// The number of bytes that it may set aside.
    aside_bytes_max: usize,
    /// The blocks that are free in the span. Only the owner uses it.
    free: Bits,
    /// A block on its way to another thread.
    handed: AtomicUsize,
}

fn class() -> Class {
    Class::numbered(1)
}

impl Shelf {
    /// An empty stack that will keep `kept` blocks and set none aside, above a span with these
    /// blocks.
    #[must_use]
    pub fn new(kept: u8, blocks: &[usize]) -> Self {
        Self::with_aside(0, kept, blocks)
    }

    /// As [`new`](Self::new), but setting aside up to `chunks` full chunks.
    #[must_use]
    pub fn with_aside(chunks: usize, kept: u8, blocks: &[usize]) -> Self {
        assert!(usize::from(kept) <= DEPTH);
        let stacks: &'static Stacks = Box::leak(Box::new(Stacks(array::from_fn(|_| Word::new(0)))));
        let shelf = Self {
            bins: Bins::nothing(),
            kept: Byte::new(kept),
            aside_bytes_max: chunks * DEPTH * class().size(),
            free: Bits::new(0),
            handed: AtomicUsize::new(0),
        };
        shelf.bins.begin(stacks.0.as_ptr().expose_provenance());
        shelf.bins.shape(class(), 0);
        for block in blocks {
            shelf.give(*block);
        }
        shelf
    }

    /// Puts another policy in force.
    pub fn follow(&self, kept: u8) {
        self.kept.set(kept);
    }

    /// The owner allocates from the stack, or refills it from the span.
    pub fn allocate(&self) -> usize {
        match self.bins.pop(class().index()) {
            0 => self.refill(),
            block => block,
        }
    }

    fn refill(&self) -> usize {
        if self.bins.take_back(class()) {
            return self.bins.pop(class().index());
        }
        let kept = usize::from(self.kept.get());
        self.bins.shape(class(), kept);
        let first = self.take();
        let more = (kept / 2).saturating_sub(1);
        let mut filling = self.bins.fill(class(), more);
        (0..more).for_each(|_| filling.put(self.take()));
        first
    }

    /// The owner frees to the stack. A full stack is set aside, or half of it goes to the span.
    pub fn free(&self, block: usize) {
        if self.bins.push(class().number(), block) {
            return;
        }
        if self.bins.put_aside(class().number(), self.aside_bytes_max) {
            self.bins.push(class().number(), block);
            return;
        }
        let half = usize::from(self.kept.get()).div_ceil(2);
        self.bins.drain(class().index(), half, |old| self.give(old));
        if !self.bins.push(class().number(), block) {
            self.give(block);
        }
    }

    /// The owner hands a block of its own to another thread.
    pub fn hand(&self, block: usize) {
        // Release: pairs with the Acquire in handed.
        self.handed.store(block, Ordering::Release);
    }

    /// The block that was handed over, if any yet.
    pub fn handed(&self) -> Option<usize> {
        // Acquire: pairs with the Release in hand.
        match self.handed.load(Ordering::Acquire) {
            0 => None,
            block => Some(block),
        }
    }

    /// True if a block is in the stack. Another thread may call this.
    pub fn keeps(&self, block: usize) -> bool {
        self.bins.has(class(), block)
    }

    /// The number of blocks in the stack. Only the owner may call this.
    pub fn len(&self) -> usize {
        self.bins.len(class())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The free blocks, as bits. Only the owner may call this.
    ///
    /// # Panics
    /// If a block is free twice.
    pub fn free_blocks(&self) -> u64 {
        let mut all = self.free.get();
        self.bins.each(class(), |block| {
            assert_eq!(all >> block & 1, 0, "{block} is free twice");
            all |= 1 << block;
        });
        all
    }

    fn take(&self) -> usize {
        let free = self.free.get();
        assert_ne!(free, 0, "the span has as many as the model asks for");
        self.free.set(free & (free - 1));
        free.trailing_zeros() as usize
    }

    fn give(&self, block: usize) {
        assert_eq!(self.free.get() >> block & 1, 0, "{block} is freed twice");
        self.free.set(self.free.get() | 1 << block);
    }
}
