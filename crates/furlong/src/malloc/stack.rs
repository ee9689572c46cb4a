//! The stacks of a heap: the free blocks of each class that it keeps, as an array of addresses.
//!
//! A stack is 64 words that end at a multiple of 512 bytes. Its top is the address of the word with
//! the block to be handed out next. Below the lowest block is a zero: a stack is empty when its
//! top leads to a zero, and full when its top is a multiple of 512. How deep it is lies in where
//! that zero is; a stack that keeps nothing is empty and full.

use core::ptr;

use crate::sync::atomic::{AtomicPtr, Ordering};

use super::{
    class::{CLASSES, Class},
    field::{Byte, Word},
};

/// The most blocks that a stack keeps.
pub(crate) const DEPTH: usize = 63;

const WORD: usize = size_of::<Word>();
const SPACE: usize = (DEPTH + 1) * WORD;

/// The bytes of all stacks, which begin at a multiple of 512: the last one ends beyond its space.
pub(crate) const STACKS: usize = (CLASSES + 1) * SPACE;
pub(crate) const STACKS_ALIGN: usize = SPACE;

#[repr(align(512))]
struct Nothing(Word);

/// Where all stacks of a heap without memory end.
static NOTHING: Nothing = Nothing(Word::new(0));

/// The tops of a heap's stacks. Only the heap's thread moves them.
#[derive(Debug)]
pub(crate) struct Tops {
    /// As many as a byte has values, so that no class has to be compared with their number.
    tops: [Top; 256],
    /// How many blocks each stack keeps.
    depths: [Byte; CLASSES],
}

/// A top: the address of a word. A pointer, so that a static may hold it.
#[derive(Debug)]
struct Top(AtomicPtr<Word>);

impl Top {
    #[inline(always)]
    fn get(&self) -> *mut Word {
        // Relaxed: only the heap's thread uses it.
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, top: *mut Word) {
        // Relaxed: as above.
        self.0.store(top, Ordering::Relaxed);
    }
}

/// The word at a place in a stack.
#[inline(always)]
fn word(at: *mut Word) -> &'static Word {
    // SAFETY: tops lead to words of stacks, which are mapped for ever, or to NOTHING; so do the
    // places between a stack's lowest word and its last one, to which alone this module moves.
    unsafe { &*at }
}

impl Tops {
    /// Of a heap without memory: all empty and full.
    pub(crate) const fn nothing() -> Self {
        Self {
            tops: [const { Top(AtomicPtr::new((&raw const NOTHING.0).cast_mut())) }; 256],
            depths: [const { Byte::new(0) }; CLASSES],
        }
    }

    /// Takes the block on top; 0 from an empty stack.
    ///
    /// The top is read twice, so that it is moved by one instruction.
    #[inline(always)]
    pub(crate) fn pop(&self, class: usize) -> usize {
        let top = &self.tops[class];
        let block = word(top.get()).get();
        if block != 0 {
            top.set(top.get().wrapping_sub(1));
        }
        block
    }

    /// Puts a block on top; `false`: the stack is full.
    #[inline(always)]
    pub(crate) fn push(&self, class: u8, block: usize) -> bool {
        let top = &self.tops[usize::from(class)];
        let at = top.get();
        if at.addr().is_multiple_of(SPACE) {
            return false;
        }
        word(at.wrapping_add(1)).set(block);
        top.set(top.get().wrapping_add(1));
        true
    }

    /// Makes all stacks empty and full, wherever their words are: no memory is touched for those
    /// that are never used.
    pub(crate) fn forget(&self) {
        for (top, depth) in self.tops.iter().zip(&self.depths) {
            top.set((&raw const NOTHING.0).cast_mut());
            depth.set(0);
        }
    }

    /// Makes an empty or new stack one that keeps so many blocks.
    pub(crate) fn shape(&self, class: Class, stacks: usize, kept: usize) {
        debug_assert!(kept <= DEPTH);
        let end = stacks + (class.index() + 1) * SPACE;
        let bottom = ptr::with_exposed_provenance_mut(end - kept * WORD);
        word(bottom).set(0);
        self.tops[class.index()].set(bottom);
        #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
        self.depths[class.index()].set(kept as u8);
    }

    /// The number of its blocks.
    pub(crate) fn len(&self, class: Class) -> usize {
        let top = self.tops[class.index()].get().addr();
        let room = (top.next_multiple_of(SPACE) - top) / WORD;
        usize::from(self.depths[class.index()].get()) - room
    }

    /// Whether a block is among them. Another thread may ask: however the stack moves meanwhile,
    /// the words are those of the heap's stacks.
    pub(crate) fn has(&self, class: Class, block: usize) -> bool {
        let top = self.tops[class.index()].get();
        (0..DEPTH)
            .map(|down| word(top.wrapping_sub(down)).get())
            .take_while(|other| *other != 0)
            .any(|other| other == block)
    }

    /// Shows all its blocks.
    pub(crate) fn each(&self, class: Class, mut show: impl FnMut(usize)) {
        let top = self.tops[class.index()].get();
        for down in 0..self.len(class) {
            show(word(top.wrapping_sub(down)).get());
        }
    }

    /// Puts blocks on an empty stack that keeps as many, so that the first comes out first.
    pub(crate) fn fill(&self, class: Class, blocks: &[usize]) {
        let top = &self.tops[class.index()];
        let mut at = top.get();
        for block in blocks.iter().rev() {
            at = at.wrapping_add(1);
            word(at).set(*block);
        }
        top.set(at);
    }

    /// Takes the `count` lowest blocks, which are the oldest, and hands each out.
    #[inline]
    pub(crate) fn drain(&self, class: Class, count: usize, mut out: impl FnMut(usize)) {
        let top = &self.tops[class.index()];
        let len = self.len(class);
        let count = count.min(len);
        let bottom = top.get().wrapping_sub(len);
        let mut from = bottom;
        for _ in 0..count {
            from = from.wrapping_add(1);
            out(word(from).get());
        }
        let mut to = bottom;
        for _ in count..len {
            (from, to) = (from.wrapping_add(1), to.wrapping_add(1));
            word(to).set(word(from).get());
        }
        top.set(to);
    }
}
