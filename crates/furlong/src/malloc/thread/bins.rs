//! The stacks of a heap: the free blocks of each class that it keeps, as arrays of addresses.
//!
//! A stack is a chunk. Its top is the address of the word with the next block to hand out. Below
//! the lowest block is a zero word. A stack is empty if its top leads to a zero, and full if its
//! top is a multiple of 512. The position of the zero sets the depth. A stack that keeps nothing is
//! both empty and full.
//!
//! A full chunk may be set aside and replaced by an empty one; it is taken back when the stack is
//! empty again. So a batch of many blocks comes and goes without access to its spans.
//!
//! Chunks have numbers from 1. A chunk is 64 words that end at a multiple of 512 bytes; the last 63
//! hold blocks. The lowest word is the zero below the blocks of a full chunk, or a link. A chunk
//! that is set aside links to the one set aside before it; a spare chunk links to the next spare
//! one. The two kinds of link differ, because a thread that reads another heap's stacks must not
//! reach spare chunks: their words still name blocks that have been handed out.

use core::ptr;

use crate::malloc::{Byte, Class, Short, Word};
use crate::sync::atomic::{AtomicPtr, Ordering, fence};
use crate::sync::record;

#[cfg(not(loom))]
use crate::malloc::class::CLASSES;

/// The most blocks of a chunk; few under loom, so that rare cases are common.
pub(crate) const DEPTH: usize = if cfg!(loom) { 3 } else { 63 };

const WORD: usize = size_of::<Word>();

/// The bytes of a chunk, and the alignment of its end.
const SPACE: usize = (DEPTH + 1) * WORD;

/// The flag in a spare chunk's link.
const SPARE: usize = 1 << 16;

/// One top for each value of a byte, so that no bounds check is needed. Under loom: class 0, which
/// has no blocks, and one other.
const TOPS: usize = if cfg!(loom) { 2 * CLASSES } else { 256 };
#[cfg(loom)]
const CLASSES: usize = 2;

/// Added to a class's number: the stack of its freed blocks, while blocks are sampled.
pub(crate) const FREED: usize = if cfg!(loom) { CLASSES } else { 128 };

/// The most chunks that a heap sets aside: of all classes, and of one.
const ASIDE: usize = if cfg!(loom) { 3 } else { 512 };
const ASIDE_OF_ONE: usize = if cfg!(loom) { 3 } else { 127 };

/// The bytes of all chunks, which begin at a multiple of 512; the last chunk ends one word beyond
/// its space.
pub(crate) const STACKS: usize = (CLASSES + ASIDE + 1) * SPACE;
pub(crate) const STACKS_ALIGN: usize = SPACE;

#[cfg(not(loom))]
#[repr(align(512))]
struct Nothing(Word);

#[cfg(not(loom))]
/// The bottom of all stacks of a heap without memory.
static NOTHING: Nothing = Nothing(Word::new(0));

/// The tops of a heap's stacks. Only the heap's thread moves them.
#[derive(Debug)]
pub(crate) struct Bins {
    tops: [Top; TOPS],
    /// The number of blocks that each stack keeps in its chunk; the same for both of a class.
    depths: [Byte; CLASSES],
    /// The chunks that are set aside: the number of the last one, and the count, by class.
    aside: [Short; CLASSES],
    asides: [Byte; CLASSES],
    /// The number of chunks set aside over all classes, and the bytes of their blocks.
    all_asides: Short,
    aside_bytes: Word,
    chunks: Chunks,
}

/// A top: the address of a word. It is a pointer, so that a static can hold it.
#[derive(Debug)]
struct Top(AtomicPtr<Word>);

impl Top {
    #[inline(always)]
    fn get(&self) -> *mut Word {
        // Relaxed: only the heap's thread moves it.
        self.0.load(Ordering::Relaxed)
    }

    /// The top, as read by another thread.
    fn look(&self) -> *mut Word {
        // Acquire: pairs with the Release in set.
        self.0.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn set(&self, top: *mut Word) {
        // Release: pairs with the Acquire in look, so that a thread that sees the top sees the
        // current words below it: an older word may name a block that has been handed out since.
        self.0.store(top, Ordering::Release);
    }
}

/// The number of words above a top in its chunk.
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
    ptr::null_mut()
}

impl Bins {
    /// Bins of a heap without memory: all stacks are empty and full.
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

    /// As above; under loom it cannot be a constant.
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

    /// Pops the block on top; 0 if the stack is empty.
    ///
    /// The top is read twice, so that one instruction moves it.
    #[inline(always)]
    pub(crate) fn pop(&self, class: usize) -> usize {
        let top = &self.tops[class];
        let block = word(top.get()).get();
        if block != 0 {
            top.set(top.get().wrapping_sub(1));
        }
        block
    }

    /// Pushes a block; `false` if the stack is full.
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

    /// Sets the place of a new heap's chunks.
    pub(crate) fn begin(&self, start: usize) {
        self.chunks.start.set(start);
        self.forget();
    }

    /// Makes all stacks empty and full, without touching their words.
    pub(crate) fn forget(&self) {
        self.tops.iter().for_each(|top| top.set(nothing()));
        self.depths.iter().for_each(|depth| depth.set(0));
        self.aside.iter().for_each(|aside| aside.set(0));
        self.asides.iter().for_each(|asides| asides.set(0));
        self.all_asides.set(0);
        self.aside_bytes.set(0);
        self.chunks.forget();
    }

    /// Makes an empty stack keep up to `kept` blocks; gives it a chunk if it has none.
    pub(crate) fn shape(&self, class: Class, kept: usize) {
        debug_assert!(kept <= DEPTH && self.asides[class.index()].get() == 0);
        let freed = FREED + class.index();
        self.shape_bin(class.index(), kept);
        if !self.is_none(freed) && self.in_chunk(freed) == 0 {
            self.shape_bin(freed, kept);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
        self.depths[class.index()].set(kept as u8);
    }

    /// True if a stack has no chunk.
    fn is_none(&self, bin: usize) -> bool {
        self.tops[bin].get() == nothing()
    }

    fn shape_bin(&self, bin: usize, kept: usize) {
        let (top, chunks) = (&self.tops[bin], &self.chunks);
        let chunk = match top.get() {
            none if none == nothing() => chunks.take(),
            top => chunks.number_at(top),
        };
        let bottom = chunks.end(chunk).wrapping_sub(kept);
        word(bottom).set(0);
        top.set(bottom);
    }

    /// Begins to use the stack of a class's freed blocks.
    pub(crate) fn keep_freed(&self, class: Class) {
        if self.is_none(FREED + class.index()) {
            let kept = usize::from(self.depths[class.index()].get());
            self.shape_bin(FREED + class.index(), kept);
        }
    }

    /// True if an empty stack can be refilled: the other of its class has room for half of `kept`.
    pub(crate) fn can_be_refilled(&self, class: Class, few: usize, kept: usize) -> bool {
        let (at, freed) = (class.index(), self.in_chunk(FREED + class.index()));
        let is_same = usize::from(self.depths[at].get()) == kept && self.aside[at].get() == 0;
        freed == 0 || freed < few && is_same
    }

    /// Exchanges an empty stack and that of the class's freed blocks, which is in use.
    pub(crate) fn turn(&self, class: Class) {
        let (at, freed) = (class.index(), FREED + class.index());
        let empty = self.tops[at].get();
        if self.in_chunk(freed) > 0 {
            self.tops[at].set(self.tops[freed].get());
            self.tops[freed].set(empty);
        }
    }

    /// Sets a full chunk aside, unless more than `most` bytes would then be aside. `false` if
    /// nothing has changed.
    pub(crate) fn put_aside(&self, bin: u8, most: usize) -> bool {
        let (class, bin) = (Class::of_bin(bin), usize::from(bin));
        let (at, chunks) = (class.index(), &self.chunks);
        let asides = self.asides[at].get();
        let whole = usize::from(self.depths[at].get()) == DEPTH && !self.is_none(bin);
        let bytes = self.aside_bytes.get() + DEPTH * class.size();
        // While blocks are sampled, each class needs a chunk more.
        let all = if bin < FREED { ASIDE } else { ASIDE - CLASSES };
        let room = bytes <= most
            && usize::from(asides) < ASIDE_OF_ONE
            && usize::from(self.all_asides.get()) < all;
        if !whole || !room {
            return false;
        }
        self.aside_bytes.set(bytes);
        let full = chunks.number_at(self.tops[bin].get());
        chunks.link(full, self.aside[at].get());
        Chunks::publish();
        self.aside[at].set(full);
        self.asides[at].set(asides + 1);
        self.all_asides.set(self.all_asides.get() + 1);
        let empty = chunks.take();
        self.tops[bin].set(chunks.lowest(empty));
        true
    }

    /// Replaces an empty chunk by the one that was set aside last. `false` if there is none.
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

    /// The number of blocks in a stack's chunk.
    pub(crate) fn in_chunk(&self, bin: usize) -> usize {
        self.below(bin, self.tops[bin].get())
    }

    /// The number of a stack's blocks from a top down.
    fn below(&self, bin: usize, top: *mut Word) -> usize {
        let depth = usize::from(self.depths[bin % FREED].get());
        usize::from(top != nothing()) * depth.saturating_sub(room(top))
    }

    /// The tops of a class's two stacks, with the numbers of the stacks; none without a chunk.
    fn tops_of(&self, class: Class) -> impl Iterator<Item = (usize, *mut Word)> {
        let bins = [class.index(), FREED + class.index()];
        // Read once: another thread may run this.
        let tops = bins.into_iter().map(|bin| (bin, self.tops[bin].look()));
        tops.filter(|(_, top)| *top != nothing())
    }

    /// The number of a class's blocks.
    pub(crate) fn len(&self, class: Class) -> usize {
        let aside = usize::from(self.asides[class.index()].get());
        self.in_chunk(class.index()) + self.in_chunk(FREED + class.index()) + aside * DEPTH
    }

    /// The last words of the chunks that a class has set aside.
    fn asides(&self, class: Class) -> impl Iterator<Item = *mut Word> {
        let none = |number: &u16| *number != 0;
        let first = Some(self.aside[class.index()].get()).filter(none);
        let next = move |number: &u16| Some(self.chunks.linked(*number)).filter(none);
        core::iter::successors(first, next)
            .take(ASIDE)
            .inspect(|_| Chunks::see())
            .map(|number| self.chunks.end(number))
    }

    /// True if a block is among them. Another thread may call this: however the stack moves
    /// meanwhile, every word read is in the heap's chunks.
    pub(crate) fn has(&self, class: Class, block: usize) -> bool {
        let mut tops = (self.asides(class)).chain(self.tops_of(class).map(|(_, top)| top));
        tops.any(|top| {
            // The word below the blocks may be the chunk's link, which is not a block.
            (0..DEPTH - room(top))
                .map(|down| word(top.wrapping_sub(down)).get())
                .take_while(|other| *other != 0)
                .any(|other| other == block)
        })
    }

    /// Calls `show` with each block of a class.
    pub(crate) fn each(&self, class: Class, mut show: impl FnMut(usize)) {
        let own = (self.tops_of(class)).map(|(bin, top)| (top, self.below(bin, top)));
        let asides = self.asides(class).map(|end| (end, DEPTH));
        for (top, len) in asides.chain(own) {
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

    /// Shuffles the blocks of a chunk. `draw` chooses a place below its argument, counted from the
    /// top.
    pub(crate) fn shuffle(&self, class: Class, mut draw: impl FnMut(usize) -> usize) {
        let top = self.tops[class.index()].get();
        let place = |at: usize| word(top.wrapping_sub(at));
        for at in (1..self.in_chunk(class.index())).rev() {
            let other = draw(at + 1);
            let block = place(at).get();
            place(at).set(place(other).get());
            place(other).set(block);
        }
    }

    /// Removes the `count` lowest blocks of a chunk, which are the oldest, and passes each to
    /// `out`.
    #[inline]
    pub(crate) fn drain(&self, bin: usize, count: usize, mut out: impl FnMut(usize)) {
        let (top, len) = (&self.tops[bin], self.in_chunk(bin));
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

/// The slots of a stack that are being filled, from the top.
pub(crate) struct Filling(*mut Word);

impl Filling {
    /// Puts a block in the next slot.
    #[inline(always)]
    pub(crate) fn put(&mut self, block: usize) {
        word(self.0).set(block);
        self.0 = self.0.wrapping_sub(1);
    }
}

record! {
    /// A heap's chunks: the unused ones.
    #[derive(Debug)]
    struct Chunks {
        /// The address at which the first one begins.
        start: Word = Word::new(0),
        /// The first of the spare chunks, which were used before; their lowest words link to the
        /// next.
        spare: Short = Short::new(0),
        /// The number of chunks that were ever used.
        used: Short = Short::new(0),
    }
    const fn nothing;
}

/// The word at a place in a chunk.
#[inline(always)]
fn word(at: *mut Word) -> &'static Word {
    // SAFETY: tops lead to words of chunks, which are mapped for ever, or to NOTHING; so do the
    // places between a chunk's lowest and last word, and this file moves to no others.
    unsafe { &*at }
}

impl Chunks {
    /// Forgets all chunks: none is in use.
    fn forget(&self) {
        self.spare.set(0);
        self.used.set(0);
    }

    /// The last word of a chunk.
    fn end(&self, number: u16) -> *mut Word {
        ptr::with_exposed_provenance_mut(self.start.get() + usize::from(number) * SPACE)
    }

    fn lowest(&self, number: u16) -> *mut Word {
        self.end(number).wrapping_sub(DEPTH)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "they are numbers of chunks"
    )]
    fn number_at(&self, top: *mut Word) -> u16 {
        ((top.addr().next_multiple_of(SPACE) - self.start.get()) / SPACE) as u16
    }

    /// The number to which a chunk that is set aside links; 0 is none. Another thread may call
    /// this: a chunk that has become spare yields none.
    fn linked(&self, number: u16) -> u16 {
        u16::try_from(word(self.lowest(number)).get()).unwrap_or(0)
    }

    /// Links a chunk to another one.
    fn link(&self, number: u16, other: u16) {
        word(self.lowest(number)).set(usize::from(other));
    }

    /// Called before a chunk's number is stored where other threads find it.
    fn publish() {
        // Release: pairs with the Acquire in see.
        fence(Ordering::Release);
    }

    /// Called after another thread has found a chunk's number.
    fn see() {
        // Acquire: pairs with the Release in publish, so that a thread that finds the number sees
        // the words of a full chunk: older words may name blocks that have been handed out since.
        fence(Ordering::Acquire);
    }

    /// Takes an unused chunk; there are enough for all stacks and all that may be set aside.
    fn take(&self) -> u16 {
        let number = match self.spare.get() {
            0 => {
                self.used.set(self.used.get() + 1);
                self.used.get()
            }
            spare => {
                let next = word(self.lowest(spare)).get() % SPARE;
                #[expect(clippy::cast_possible_truncation, reason = "less than SPARE")]
                self.spare.set(next as u16);
                spare
            }
        };
        self.link(number, 0);
        number
    }

    /// Makes a chunk spare.
    fn give(&self, number: u16) {
        word(self.lowest(number)).set(SPARE + usize::from(self.spare.get()));
        self.spare.set(number);
    }
}
