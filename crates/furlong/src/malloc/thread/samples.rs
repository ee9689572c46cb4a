//! Samples: allocations that are chosen at random, for a profile of the heap.
//!
//! Every allocation has the same chance a byte to be chosen, so each sample stands for a known
//! number of allocations, and sums over samples are unbiased. No gate counts anything. While blocks
//! are sampled, freed blocks go to a second stack of their class, so only allocations change the
//! first one. When it is empty, the two change places, and the next sample is drawn: the blocks
//! below it move to the second stack. So the sampled allocation itself finds an empty stack.
//!
//! A sampled block is of a span of a heap that belongs to no thread, like a zone's. So its free
//! takes the slow path, which knows that heap.
#![forbid(unsafe_code)]

use crate::forms::copies;
use crate::malloc::{
    Central, Class, Config, DEPTH, FREED, Heap, Pool, Span, ThreadHeap, pointer, without_unwinding,
};

/// The fewest bytes and blocks with which a stack is refilled: as many stay in a processor's cache.
const FEW_BYTES: usize = 4096;
const FEW: usize = 32;

/// The list of an object above the size classes that is sampled.
const SAMPLED: u8 = 4;

/// An allocation that was chosen, for [`Sampler::allocated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The block.
    pub block: *mut u8,
    /// The number of bytes that the caller asked for.
    pub size: usize,
    /// The chance with which it was chosen, as two numbers of bytes: the block's own, and those
    /// from one sample to the next. So it stands for `chance.1 / chance.0` allocations like it.
    pub chance: (usize, usize),
}

/// The receiver of an allocator's samples: see [`Config::SAMPLER`] and
/// [`Profile::sample_bytes`](crate::malloc::Profile::sample_bytes).
pub trait Sampler: Sync {
    /// A sampled block is about to be returned to its caller. This may allocate; blocks that it
    /// allocates are not sampled.
    fn allocated(&self, sample: Sample);

    /// A sampled block is being freed. A latch may be held, so this must not allocate or free.
    fn freed(&self, block: *mut u8);
}

/// The samples of an allocator.
pub(crate) struct Samples<C: Config>(pub(crate) &'static Central<C>);

copies! { Samples<C> where [C: Config]; }

impl<C: Config> Samples<C> {
    /// True if this allocator samples, or has paused. Constant without a [`Sampler`].
    #[inline(always)]
    pub(crate) fn are_taken(self) -> bool {
        C::SAMPLER.is_some() && self.0.policy.has_two_stacks()
    }

    /// Allocates a block for a heap whose stack of this class is empty; 0 if out of memory.
    #[inline(never)]
    pub(crate) fn allocate(self, own: ThreadHeap<C>, class: Class, size: usize) -> usize {
        let (cache, freed) = (&own.heap.cache, FREED + class.index());
        let armed = &cache.armed[class.index()];
        let is_reporting = cache.reporting.get() == 1;
        let is_next = armed.get() == 1 && !is_reporting;
        if !is_reporting {
            armed.set(0);
        }
        cache.bins.keep_freed(class);
        // A sample may be due although the sampling has paused.
        let every = self.0.policy.sample_bytes();
        if is_next
            && every > 0
            && let Some(block) = self.take(own, class, size)
        {
            return block;
        }
        let first = Self::next(own, class);
        if first == 0 || every == 0 || own.heap.zone.get() == 1 || is_reporting {
            return first;
        }
        let after = cache.bins.in_chunk(class.index());
        let quiet = self.draw(own.heap, class.size(), after + 1);
        if quiet > after {
            return first;
        }
        // There is room: a refilled stack has at most half of what a stack keeps, and the other one
        // at most a quarter. After a turn the other one is empty.
        let hidden = after - quiet.saturating_sub(1);
        cache.bins.drain(class.index(), hidden, |block| {
            let is_kept = cache.bins.push(freed as u8, block);
            debug_assert!(is_kept);
        });
        if quiet > 0 {
            armed.set(1);
            return first;
        }
        let sampled = self.take(own, class, size);
        sampled
            .inspect(|_| own.keep_or_give(freed as u8, first))
            .unwrap_or(first)
    }

    /// The next block of a class whose stack is empty, and more blocks in the stack.
    ///
    /// Blocks in use and freed ones would fill two stacks where one block would do. So a stack is
    /// refilled with few blocks, and with twice as many each time, until most of them come back.
    /// Fewer than half of the few are not worth a turn.
    #[inline(always)]
    fn next(own: ThreadHeap<C>, class: Class) -> usize {
        let (cache, kept) = (&own.heap.cache, own.central.policy.kept(class));
        let fill = &cache.fills[class.index()];
        let most = usize::from(fill.get());
        let few = (FEW_BYTES / class.size())
            .clamp(1, FEW)
            .min(kept / 2)
            .max(1);
        if cache.bins.can_be_refilled(class, few.div_ceil(2), kept) {
            let most = most.max(few);
            fill.set((2 * most).min(DEPTH) as u8);
            let first = own.refill(class, most);
            if first != 0 {
                return first;
            }
        }
        cache.bins.turn(class);
        if cache.bins.in_chunk(class.index()) >= most / 2 {
            fill.set((most / 2) as u8);
        }
        cache.bins.pop(class.index())
    }

    /// The number of allocations of `room` bytes each before the first one that is sampled, among
    /// so many.
    fn draw(self, heap: &Heap, room: usize, among: usize) -> usize {
        let random = || heap.cache.next_random() as u64;
        quiet(
            random() << 32 ^ random(),
            room,
            self.0.policy.sample_bytes(),
            among,
        )
    }

    /// Allocates a block that is sampled. `None` if out of memory.
    fn take(self, own: ThreadHeap<C>, class: Class, size: usize) -> Option<usize> {
        let heap = self.0.pool.samples.get().or_else(|| self.make_heap())?;
        let shared = ThreadHeap::new(self.0, heap);
        let (held, span) = shared.hold_with_blocks(class);
        let (span, mut block) = (span?, 0);
        shared.take_from(span, 1, |address| block = address);
        if span.is_exhausted() {
            shared.unlist_full(span);
        }
        drop(held);
        self.report(own.heap, block, size, class.size());
        Some(block)
    }

    /// Makes the heap of sampled blocks, unless another thread does.
    fn make_heap(self) -> Option<&'static Heap> {
        let heap = ThreadHeap::create(self.0)?.heap;
        heap.zone.set(1);
        self.0.with_pool(|pool: &'static Pool| {
            if pool.samples.get().is_some() {
                pool.add_spare(heap);
            } else {
                pool.samples.set(Some(heap));
            }
            pool.samples.get()
        })
    }

    fn report(self, heap: &Heap, block: usize, size: usize, room: usize) {
        let Some(sampler) = C::SAMPLER else {
            return;
        };
        let every = self.0.policy.sample_bytes();
        heap.cache.reporting.set(1);
        let sample = Sample {
            block: pointer(block),
            size,
            chance: (room.min(every), every),
        };
        without_unwinding(|| sampler.allocated(sample));
        heap.cache.reporting.set(0);
    }

    /// Reports that a block of a span is freed, if it is sampled; `false` otherwise.
    pub(crate) fn freed(self, span: &Span, address: usize) -> bool {
        let Some(sampler) = C::SAMPLER else {
            return false;
        };
        let heap = self.0.pool.samples.get();
        let sampled = heap.is_some_and(|heap| span.owner.is(heap));
        if sampled {
            without_unwinding(|| sampler.freed(pointer(address)));
        }
        sampled
    }

    /// Chooses whether an object above the size classes, which was just allocated or resized, is
    /// sampled.
    pub(crate) fn consider(self, address: usize, size: usize, room: usize) {
        if !self.are_taken() || self.0.policy.sample_bytes() == 0 {
            return;
        }
        let Some(own) = ThreadHeap::bind(self.0) else {
            return;
        };
        // What the sampler allocates would be a zone's, and go with it.
        if own.heap.zone.get() == 1 {
            return;
        }
        if own.heap.cache.reporting.get() == 0 && self.draw(own.heap, room, 1) == 0 {
            self.0.map.span_at(address).listed.set(SAMPLED);
            self.report(own.heap, address, size, room);
        }
    }

    /// Reports that an object above the size classes is no more what it was, if it is sampled.
    pub(crate) fn forget(self, span: &Span, address: usize) {
        if let Some(sampler) = C::SAMPLER
            && span.listed.get() == SAMPLED
        {
            span.listed.set(0);
            without_unwinding(|| sampler.freed(pointer(address)));
        }
    }
}

/// The number of trials before the first success, among so many, if each succeeds with a chance of
/// `room / every`; `random` is uniform.
fn quiet(random: u64, room: usize, every: usize, among: usize) -> usize {
    if room >= every {
        return 0;
    }
    let chance = u64::MAX / every as u64 * room as u64;
    // By Bernoulli's inequality the chance that none succeeds is at least this.
    let none = u64::MAX.saturating_sub(chance.saturating_mul(among as u64));
    if random < none {
        return among;
    }
    let mut none = u64::MAX;
    for trial in 0..among {
        none = ((u128::from(none) * u128::from(u64::MAX - chance)) >> 64) as u64;
        if random >= none {
            return trial;
        }
    }
    among
}
