//! The exchange between heaps, over records without memory.
//!
//! All other parts of an allocator belong to one thread or are under a latch. The record maps are
//! too large for loom, so [`World`] replaces them by a few spans of four blocks. Each block is a
//! cell that its holder writes, so loom detects two holders at once.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{UnsafeCell, spin_loop};
use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::malloc::central::span::Use;
use crate::malloc::thread::exchange::Exchange;
use crate::malloc::{Class, Heap, Latch, Link, Span, State};

/// Blocks of a word.
const HALF: u64 = 0b11;
/// One number for all callers, since holders need not be distinguished.
const CALLER: u32 = 1;
/// Blocks of a span, two in each of two words.
const BLOCKS: usize = 4;

/// A span and its blocks.
#[derive(Debug)]
struct Place {
    span: Span,
    remote: [AtomicU64; 2],
    /// The free blocks. Only the owner uses them, under its latch.
    free: UnsafeCell<u64>,
    blocks: [UnsafeCell<()>; BLOCKS],
}

/// Heaps and spans. Initially all blocks are in use.
#[derive(Debug)]
pub struct World {
    heaps: Vec<&'static Heap>,
    places: Vec<&'static Place>,
    pool: Latch,
    ended: Link<Heap>,
    /// The first of all heaps, as in the pool.
    first: Link<Heap>,
}

// SAFETY: loom checks every access to the cells.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

fn class() -> Class {
    Class::numbered(1)
}

impl World {
    /// A world with so many running heaps, and with spans that they own.
    #[must_use]
    pub fn new(heaps: usize, owners: &[usize]) -> &'static Self {
        let first = Link::none();
        let heaps: Vec<_> = (0..heaps).map(|_| add_heap(&first)).collect();
        let place = |(at, owner): (usize, &usize)| {
            let place: &'static Place = Box::leak(Box::new(Place {
                span: Span::none(),
                remote: [AtomicU64::new(0), AtomicU64::new(0)],
                free: UnsafeCell::new(0),
                blocks: [const { () }; BLOCKS].map(UnsafeCell::new),
            }));
            place.span.unit.set(u32::try_from(at + 1).unwrap_or(0));
            place.span.class.set(class().number());
            place.span.use_for(Use::Blocks);
            place.span.owner.set(Some(heaps[*owner]));
            place
        };
        let places = owners.iter().enumerate().map(place).collect();
        Box::leak(Box::new(Self {
            heaps,
            places,
            pool: Latch::new(),
            ended: Link::none(),
            first,
        }))
    }

    fn place(&'static self, span: &Span) -> &'static Place {
        self.places[span.unit.get() as usize - 1]
    }

    /// Models the last use of blocks by their holder, and their remote free. `bits` are of one
    /// word.
    pub fn free_remotely(&'static self, span: usize, word: usize, bits: u64) {
        let place = self.places[span];
        touch(place, word, bits);
        self.post(&place.span, word, bits);
    }

    /// Lets the owner collect blocks that other threads freed.
    pub fn collect_into(&'static self, heap: usize) {
        self.lock_heap(self.heaps[heap]);
        self.collect(self.heaps[heap]);
        self.unlock_heap(self.heaps[heap]);
    }

    /// Ends a heap's thread.
    pub fn end_heap(&'static self, heap: usize) {
        self.end(self.heaps[heap], || self.collect(self.heaps[heap]), |()| ());
    }

    /// Begins a thread, which takes over a heap.
    pub fn begin(&'static self) -> Option<usize> {
        let taken = self.take_over(|_| ())?;
        self.heaps
            .iter()
            .position(|heap| core::ptr::eq(*heap, taken))
    }

    /// Begins a thread, which makes a heap.
    pub fn begin_anew(&'static self) {
        add_heap(&self.first);
    }

    /// True if a walk over all heaps comes to a heap.
    pub fn lists(&'static self, heap: usize) -> bool {
        core::iter::successors(self.first.get(), |heap| heap.next.get())
            .any(|other| core::ptr::eq(self.heaps[heap], other))
    }

    /// Lets a heap take over spans of ended heaps with blocks left to give.
    pub fn take_ended_spans_into(&'static self, heap: usize) -> bool {
        self.lock_heap(self.heaps[heap]);
        let taken = self.take_ended_spans(self.heaps[heap], class()).is_some();
        self.unlock_heap(self.heaps[heap]);
        taken
    }

    /// Gives a span without an owner to a heap, with all its blocks in use.
    pub fn renew(&'static self, span: usize, heap: usize) -> bool {
        self.under_pool(|| {
            let place = self.places[span];
            let free = place.span.owner.get().is_none();
            if free {
                set(place, 0);
                place.span.owner.set(Some(self.heaps[heap]));
            }
            free
        })
    }

    /// The free blocks of a span, and its owner. No other thread may run meanwhile.
    #[must_use]
    pub fn state(&'static self, span: usize) -> (u64, Option<usize>) {
        let place = self.places[span];
        let owner = self.heaps.iter().position(|heap| place.span.owner.is(heap));
        (get(place), owner)
    }

    /// True if a block is posted and not collected. No other thread may run meanwhile.
    #[must_use]
    pub fn has_posted(&'static self, span: usize) -> bool {
        let words = self.places[span].remote.iter();
        words
            .into_iter()
            .any(|word| word.load(Ordering::SeqCst) != 0)
    }
}

/// Makes a running heap and puts it in front of a list.
fn add_heap(first: &Link<Heap>) -> &'static Heap {
    let heap: &'static Heap = Box::leak(Box::new(Heap::standing_for(State::Running)));
    first.push(heap, |next| heap.next.set(next));
    heap
}

fn get(place: &Place) -> u64 {
    // SAFETY: under the owner's latch, which loom checks.
    place.free.with(|free| unsafe { *free })
}

fn set(place: &Place, bits: u64) {
    // SAFETY: under the owner's latch, which loom checks.
    place.free.with_mut(|free| unsafe { *free = bits });
}

/// Uses blocks of a word.
fn touch(place: &Place, word: usize, bits: u64) {
    for block in (0..2).filter(|block| bits >> block & 1 == 1) {
        place.blocks[word * 2 + block].with_mut(|_| ());
    }
}

impl Exchange for World {
    fn remote(&'static self, span: &'static Span, word: usize) -> Option<&'static AtomicU64> {
        Some(&self.place(span).remote[word])
    }

    fn give_blocks(
        &'static self,
        heap: &'static Heap,
        span: &'static Span,
        word: usize,
        bits: u64,
    ) {
        assert!(span.owner.is(heap), "blocks of somebody else's");
        let place = self.place(span);
        touch(place, word, bits);
        let before = get(place);
        let now = before | bits << (word * 2);
        assert_eq!(before & bits << (word * 2), 0, "freed twice");
        set(place, now);
        if before == 0 {
            span.next.set(heap.first(class()).get());
            heap.first(class()).set(span.unit.get());
        }
        if now == HALF | HALF << 2 {
            // In these models it is the only span of its list.
            heap.first(class()).set(span.next.get());
            self.under_pool(|| span.owner.set(None));
        }
    }

    fn under_pool<T>(&'static self, run: impl FnOnce() -> T) -> T {
        self.lock(&self.pool);
        let done = run();
        self.unlock(&self.pool);
        done
    }

    fn ended(&'static self) -> &'static Link<Heap> {
        &self.ended
    }

    fn first_span(&'static self, heap: &'static Heap, class: Class) -> Option<&'static Span> {
        let unit = heap.first(class).get() as usize;
        (unit != 0).then(|| &self.places[unit - 1].span)
    }

    fn relist(&'static self, span: &'static Span, from: &'static Heap, to: &'static Heap) {
        from.first(class()).set(span.next.get());
        span.owner.set(Some(to));
        span.next.set(to.first(class()).get());
        to.first(class()).set(span.unit.get());
    }

    fn give_left_of(&'static self, _: &'static Heap, _: Class) {}

    fn stop_twice(&'static self, _: &'static Span, block: usize) -> ! {
        panic!("block {block} freed twice")
    }

    fn lock(&'static self, latch: &'static Latch) {
        latch.lock(CALLER, |latch| {
            while !latch.try_lock(CALLER) {
                spin_loop();
            }
        });
    }

    fn try_lock(&'static self, latch: &'static Latch) -> bool {
        latch.try_lock(CALLER)
    }

    fn unlock(&'static self, latch: &'static Latch) {
        latch.unlock(CALLER, |_| unreachable!("nobody sleeps"));
    }
}
