//! The stacks of a heap: the free blocks of each class that it keeps, as arrays of addresses.
//!
//! A stack is a chunk. Its top is the address of the word with the block to be handed out next.
//! Below the lowest block is a zero: a stack is empty when its top leads to a zero, and full when
//! its top is a multiple of 512. How deep it is lies in where that zero is; a stack that keeps
//! nothing is empty and full.
//!
//! A full chunk may be put aside for an empty one, and is taken back when that is empty again: so
//! a batch of many blocks comes and goes without its spans being asked.

mod chunks;

use crate::sync::atomic::{AtomicPtr, Ordering};

#[cfg(not(loom))]
use super::class::CLASSES;
use super::{
    class::Class,
    field::{Byte, Short, Word},
};
pub(crate) use chunks::DEPTH;
use chunks::{Chunks, SPACE, WORD, word};

/// As many tops as a byte has values, so that no class has to be compared with their number; under
/// loom class 0, which has no blocks, and another one.
const TOPS: usize = if cfg!(loom) { CLASSES } else { 256 };
#[cfg(loom)]
const CLASSES: usize = 2;

/// The most chunks that a heap has put aside: of all classes, and of one.
const ASIDE: usize = if cfg!(loom) { 3 } else { 512 };
const ASIDE_OF_ONE: usize = if cfg!(loom) { 3 } else { 127 };

/// The bytes of all chunks, which begin at a multiple of 512: the last one ends beyond its space.
pub(crate) const STACKS: usize = (CLASSES + ASIDE + 1) * SPACE;
pub(crate) const STACKS_ALIGN: usize = SPACE;

#[cfg(not(loom))]
#[repr(align(512))]
struct Nothing(Word);

#[cfg(not(loom))]
/// Where all stacks of a heap without memory end.
static NOTHING: Nothing = Nothing(Word::new(0));

/// The tops of a heap's stacks. Only the heap's thread moves them.
#[derive(Debug)]
pub(crate) struct Tops {
    tops: [Top; TOPS],
    /// How many blocks each stack keeps in its chunk.
    depths: [Byte; CLASSES],
    /// The chunks that are put aside: the last one's number, and how many of the class.
    aside: [Short; CLASSES],
    asides: [Byte; CLASSES],
    /// How many are put aside of all classes, and the bytes of their blocks.
    all_asides: Short,
    aside_bytes: Word,
    chunks: Chunks,
}

/// A top: the address of a word. A pointer, so that a static may hold it.
#[derive(Debug)]
struct Top(AtomicPtr<Word>);

impl Top {
    #[inline(always)]
    fn get(&self) -> *mut Word {
        // Relaxed: only the heap's thread moves it.
        self.0.load(Ordering::Relaxed)
    }

    /// As another thread sees it.
    fn look(&self) -> *mut Word {
        // Acquire: pairs with the Release in set.
        self.0.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn set(&self, top: *mut Word) {
        // Release: pairs with the Acquire in look, so that who sees the top sees the words below it
        // as they are: an older one may name a block that has been given out since.
        self.0.store(top, Ordering::Release);
    }
}

/// How many words of its chunk are above a top.
fn room(top: *mut Word) -> usize {
    (top.addr().next_multiple_of(SPACE) - top.addr()) / WORD
}

#[cfg(not(loom))]
const fn nothing() -> *mut Word {
    (&raw const NOTHING.0).cast_mut()
}

/// Under loom all stacks are shaped before they are used.
#[cfg(loom)]
const fn nothing() -> *mut Word {
    core::ptr::null_mut()
}

impl Tops {
    /// Of a heap without memory: all empty and full.
    #[cfg(not(loom))]
    pub(crate) const fn nothing() -> Self {
        Self {
            tops: [const { Top(AtomicPtr::new(nothing())) }; TOPS],
            depths: [const { Byte::new(0) }; CLASSES],
            aside: [const { Short::new(0) }; CLASSES],
            asides: [const { Byte::new(0) }; CLASSES],
            all_asides: Short::new(0),
            aside_bytes: Word::new(0),
            chunks: Chunks::nothing(),
        }
    }

    /// The same, which under loom no constant can be.
    #[cfg(loom)]
    pub(crate) fn nothing() -> Self {
        Self {
            tops: core::array::from_fn(|_| Top(AtomicPtr::new(nothing()))),
            depths: core::array::from_fn(|_| Byte::new(0)),
            aside: core::array::from_fn(|_| Short::new(0)),
            asides: core::array::from_fn(|_| Byte::new(0)),
            all_asides: Short::new(0),
            aside_bytes: Word::new(0),
            chunks: Chunks::nothing(),
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

    /// Where the chunks of a new heap are.
    pub(crate) fn begin(&self, start: usize) {
        self.chunks.start.set(start);
        self.forget();
    }

    /// Makes all stacks empty and full, without touching a word of theirs.
    pub(crate) fn forget(&self) {
        self.tops.iter().for_each(|top| top.set(nothing()));
        self.depths.iter().for_each(|depth| depth.set(0));
        self.aside.iter().for_each(|aside| aside.set(0));
        self.asides.iter().for_each(|asides| asides.set(0));
        self.all_asides.set(0);
        self.aside_bytes.set(0);
        self.chunks.forget();
    }

    /// Makes an empty stack, or one without a chunk, one that keeps so many blocks.
    pub(crate) fn shape(&self, class: Class, kept: usize) {
        debug_assert!(kept <= DEPTH && self.asides[class.index()].get() == 0);
        let (top, chunks) = (&self.tops[class.index()], &self.chunks);
        let chunk = match top.get() {
            none if none == nothing() => chunks.take(),
            top => chunks.number_at(top),
        };
        let bottom = chunks.end(chunk).wrapping_sub(kept);
        word(bottom).set(0);
        top.set(bottom);
        #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
        self.depths[class.index()].set(kept as u8);
    }

    /// Puts a full chunk aside, if no more than `most` bytes are then. `false`: nothing has
    /// changed.
    pub(crate) fn put_aside(&self, class: Class, most: usize) -> bool {
        let (at, chunks) = (class.index(), &self.chunks);
        let asides = self.asides[at].get();
        let whole = usize::from(self.depths[at].get()) == DEPTH;
        let bytes = self.aside_bytes.get() + DEPTH * class.size();
        let room = bytes <= most
            && usize::from(asides) < ASIDE_OF_ONE
            && usize::from(self.all_asides.get()) < ASIDE;
        if !whole || !room {
            return false;
        }
        self.aside_bytes.set(bytes);
        let full = chunks.number_at(self.tops[at].get());
        chunks.link(full, self.aside[at].get());
        Chunks::publish();
        self.aside[at].set(full);
        self.asides[at].set(asides + 1);
        self.all_asides.set(self.all_asides.get() + 1);
        let empty = chunks.take();
        self.tops[at].set(chunks.lowest(empty));
        true
    }

    /// Takes the chunk back that was put aside last, for an empty one. `false`: there is none.
    pub(crate) fn take_back(&self, class: Class) -> bool {
        let (at, chunks) = (class.index(), &self.chunks);
        let full = self.aside[at].get();
        if full == 0 {
            return false;
        }
        chunks.give(chunks.number_at(self.tops[at].get()));
        self.aside[at].set(chunks.linked(full));
        self.asides[at].set(self.asides[at].get() - 1);
        self.all_asides.set(self.all_asides.get() - 1);
        let bytes = self.aside_bytes.get() - DEPTH * class.size();
        self.aside_bytes.set(bytes);
        chunks.link(full, 0);
        self.tops[at].set(chunks.end(full));
        true
    }

    /// The number of its blocks in its chunk.
    fn in_chunk(&self, class: Class) -> usize {
        self.below(class, self.tops[class.index()].get())
    }

    /// The number of its blocks from a top down.
    fn below(&self, class: Class, top: *mut Word) -> usize {
        usize::from(self.depths[class.index()].get()).saturating_sub(room(top))
    }

    /// The number of its blocks.
    pub(crate) fn len(&self, class: Class) -> usize {
        let aside = usize::from(self.asides[class.index()].get());
        self.in_chunk(class) + aside * DEPTH
    }

    /// The last words of the chunks that a class has put aside.
    fn asides(&self, class: Class) -> impl Iterator<Item = *mut Word> {
        let none = |number: &u16| *number != 0;
        let first = Some(self.aside[class.index()].get()).filter(none);
        let next = move |number: &u16| Some(self.chunks.linked(*number)).filter(none);
        core::iter::successors(first, next)
            .take(ASIDE)
            .inspect(|_| Chunks::see())
            .map(|number| self.chunks.end(number))
    }

    /// Whether a block is among them. Another thread may ask: however the stack moves meanwhile,
    /// the words are those of the heap's chunks.
    pub(crate) fn has(&self, class: Class, block: usize) -> bool {
        let mut tops = self.asides(class).chain([self.tops[class.index()].look()]);
        tops.any(|top| {
            // Below may be what is no word of the chunk any more but its link.
            (0..DEPTH - room(top))
                .map(|down| word(top.wrapping_sub(down)).get())
                .take_while(|other| *other != 0)
                .any(|other| other == block)
        })
    }

    /// Shows all its blocks.
    pub(crate) fn each(&self, class: Class, mut show: impl FnMut(usize)) {
        // Read once: another thread may ask, and a length that is another top's leads out of the
        // chunk.
        let top = self.tops[class.index()].look();
        let own = (top, self.below(class, top));
        let asides = self.asides(class).map(|end| (end, DEPTH));
        for (top, len) in asides.chain([own]) {
            for down in 0..len {
                show(word(top.wrapping_sub(down)).get());
            }
        }
    }

    /// Makes room for `count` blocks on an empty stack that keeps as many. All of them must be put
    /// there; the first comes out first.
    #[inline(always)]
    pub(crate) fn fill(&self, class: Class, count: usize) -> Filling {
        debug_assert!(count <= usize::from(self.depths[class.index()].get()));
        let top = &self.tops[class.index()];
        top.set(top.get().wrapping_add(count));
        Filling(top.get())
    }

    /// Puts the blocks of a chunk in another order, each in the place of one at or below it that is
    /// drawn.
    pub(crate) fn shuffle(&self, class: Class, mut draw: impl FnMut(usize) -> usize) {
        let top = self.tops[class.index()].get();
        let place = |at: usize| word(top.wrapping_sub(at));
        for at in (1..self.in_chunk(class)).rev() {
            let other = draw(at + 1);
            let block = place(at).get();
            place(at).set(place(other).get());
            place(other).set(block);
        }
    }

    /// Takes the `count` lowest blocks of a chunk, which are the oldest, and hands each out.
    #[inline]
    pub(crate) fn drain(&self, class: Class, count: usize, mut out: impl FnMut(usize)) {
        let top = &self.tops[class.index()];
        let len = self.in_chunk(class);
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

/// Places of a stack that are being filled, from the top.
pub(crate) struct Filling(*mut Word);

impl Filling {
    /// Puts a block in the next place.
    #[inline(always)]
    pub(crate) fn put(&mut self, block: usize) {
        word(self.0).set(block);
        self.0 = self.0.wrapping_sub(1);
    }
}
