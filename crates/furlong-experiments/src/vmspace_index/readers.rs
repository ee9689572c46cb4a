//! Threads that look up areas while another one erases and stores areas, or computes.

use std::hint::black_box;
use std::ops::Range;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use furlong::addr::VirtAddr;
use furlong::maple::Config;
use furlong::rbtree::Counters;
use furlong::rcu::{Domain, Reader};
use furlong_spec::Random;

use super::driver::{Score, same};
use super::index::{AreaIndex, Span};
use super::layout::Layout;
use super::rcu::{RCU, RcuIndex};
use super::shape::Shape;
use super::tree::Tree;
use super::work::{Counted, Work};
use crate::computing::compute;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Lookups between two checks, and between two changes where events are counted.
const BATCH: u64 = 64;

/// Addresses that a reader looks up, in a cycle.
const ADDRESSES: usize = 1 << 14;

/// An index with concurrent readers and a writer.
pub trait SharedIndex {
    /// Handle of a reading thread.
    type Reader<'a>
    where
        Self: 'a;

    /// Makes this thread's handle.
    fn reader(&self) -> Self::Reader<'_>;

    /// Returns the number of the area that contains an address, as a fault looks it up. The reader
    /// enters a read-side section, or takes the lock, for each lookup.
    fn find(&self, reader: &Self::Reader<'_>, address: u64) -> Option<u32>;

    /// As [`AreaIndex::store`].
    fn store(&self, span: Span, value: u32);

    /// As [`AreaIndex::erase`].
    fn erase(&self, span: Span) -> Option<u32>;

    /// Counts so far, if it counts.
    fn work(&self) -> Work {
        Work::default()
    }

    /// As [`AreaIndex::bytes`].
    fn bytes(&self) -> u64 {
        0
    }

    /// Checks the invariants, where that is possible, and adds up all areas.
    ///
    /// # Errors
    /// The broken invariant.
    fn settled(&self) -> Result<u64, Failure>;
}

/// A tree of areas under a reader-writer lock.
pub(super) struct Locked<K: Counters>(RwLock<Tree<K>>);

impl<K: Counters + Counted> Locked<K> {
    pub(super) fn new() -> Self {
        Self(RwLock::new(Tree::new()))
    }
}

/// Panic message: no thread has poisoned the lock.
const POISON: &str = "no thread panics under the lock";

impl<K: Counters + Counted> SharedIndex for Locked<K> {
    type Reader<'a>
        = ()
    where
        Self: 'a;

    fn reader(&self) {}

    #[inline]
    fn find(&self, (): &(), address: u64) -> Option<u32> {
        self.0.read().expect(POISON).find(address)
    }

    fn store(&self, span: Span, value: u32) {
        self.0.write().expect(POISON).store(span, value);
    }

    fn erase(&self, span: Span) -> Option<u32> {
        self.0.write().expect(POISON).erase(span)
    }

    fn work(&self) -> Work {
        self.0.read().expect(POISON).work()
    }

    fn bytes(&self) -> u64 {
        self.0.read().expect(POISON).bytes()
    }

    fn settled(&self) -> Result<u64, Failure> {
        let tree = self.0.read().expect(POISON);
        tree.check().map(|()| tree.sum())
    }
}

impl<C: Config<Counters: Counted>> SharedIndex for RcuIndex<C> {
    type Reader<'a>
        = Reader<'static>
    where
        Self: 'a;

    fn reader(&self) -> Reader<'static> {
        let domain: &'static Domain = &RCU;
        domain.register().expect("there is a slot")
    }

    #[inline]
    fn find(&self, reader: &Reader<'static>, address: u64) -> Option<u32> {
        self.0.read(&reader.enter()).load(VirtAddr::new(address))
    }

    fn store(&self, span: Span, value: u32) {
        self.put(span, value);
    }

    fn erase(&self, span: Span) -> Option<u32> {
        self.take(span)
    }

    fn work(&self) -> Work {
        AreaIndex::work(self)
    }

    fn bytes(&self) -> u64 {
        AreaIndex::bytes(self)
    }

    fn settled(&self) -> Result<u64, Failure> {
        AreaIndex::check(self).map(|()| self.sum())
    }
}

/// Counts the events of one sample, with all threads played by this one.
pub(super) fn count<S: SharedIndex>(index: &S, request: &Request) -> Result<Outcome, Failure> {
    let (race, layout) = Race::new(index, request)?;
    let before = index.work();
    race.in_turn()?;
    let score = Score {
        work: index.work() - before,
        ..Score::default()
    };
    race.finish(score, &layout, true)
}

/// Times one sample. An operation is a lookup by one of the readers. Its time is what a reader
/// sees, so the elapsed time counts once per reader.
///
/// # Errors
/// The workload has no readers, or an answer is wrong.
pub fn time<S: SharedIndex + Sync>(index: &S, request: &Request) -> Result<Outcome, Failure> {
    let (race, layout) = Race::new(index, request)?;
    let score = Score {
        timed: race.at_once()? * race.reads.len() as u32,
        ..Score::default()
    };
    race.finish(score, &layout, false)
}

/// Areas with odd numbers, which the writer never changes: addresses, and the sums of their answers
/// by batch.
struct Read {
    addresses: Vec<u64>,
    sums: Vec<u64>,
}

impl Read {
    fn drawn(layout: &Layout, numbers: &Range<u32>, random: &mut Random) -> Self {
        let odd = std::iter::repeat_with(|| layout.address(random))
            .filter(|(_, at)| at % 2 == 1 && numbers.contains(at));
        let queries: Vec<_> = odd.take(ADDRESSES).collect();
        let sum = |batch: &[(u64, u32)]| batch.iter().map(|(_, at)| u64::from(*at)).sum();
        Self {
            sums: queries.chunks(BATCH as usize).map(sum).collect(),
            addresses: queries.into_iter().map(|(address, _)| address).collect(),
        }
    }

    /// Looks up the addresses of a batch and checks their sum.
    fn batch<S: SharedIndex>(
        &self,
        index: &S,
        reader: &S::Reader<'_>,
        batch: u64,
    ) -> Result<(), Failure> {
        let at = batch as usize % self.sums.len();
        let from = at * BATCH as usize;
        let queries = black_box(&self.addresses[from..from + BATCH as usize]);
        let found = queries.iter().map(|address| index.find(reader, *address));
        let found = found.fold(0, |sum, value| sum + value.map_or(0, u64::from));
        same("look-ups add up to", found, self.sums[at])
    }
}

/// Areas with even numbers, in the order in which the writer erases and stores them.
fn writes(layout: &Layout, numbers: &Range<u32>, random: &mut Random) -> Vec<(Span, u32)> {
    let even = layout
        .numbered()
        .filter(|(_, at)| at % 2 == 0 && numbers.contains(at));
    let mut even: Vec<_> = even.collect();
    random.shuffle(&mut even);
    even
}

struct Race<'a, S> {
    index: &'a S,
    /// True if nothing is written and the other thread computes.
    computes: bool,
    reads: Vec<Read>,
    writes: Vec<(Span, u32)>,
    /// Batches of each reader.
    batches: u64,
}

impl<'a, S: SharedIndex> Race<'a, S> {
    fn new(index: &'a S, request: &Request) -> Result<(Self, Layout), Failure> {
        let shape = Shape::of(&request.workload)?;
        let mut random = Random::new(request.seed);
        let layout = Layout::new(shape.areas, &mut random);
        for (span, value) in layout.shuffled(&mut random) {
            index.store(span, value);
        }
        let (all, middle) = (shape.areas as u32, shape.areas as u32 / 2);
        let (read, written) = if shape.apart {
            (0..middle, middle..all)
        } else {
            (0..all, 0..all)
        };
        let drawn = std::iter::repeat_with(|| Read::drawn(&layout, &read, &mut random));
        let race = Self {
            index,
            computes: shape.computes,
            reads: drawn.take(shape.threads).collect(),
            writes: writes(&layout, &written, &mut random),
            batches: request
                .operations
                .div_ceil(BATCH * shape.threads as u64)
                .max(1),
        };
        Ok((race, layout))
    }

    fn finish(&self, score: Score, layout: &Layout, exact: bool) -> Result<Outcome, Failure> {
        let operations = self.batches * BATCH * self.reads.len() as u64;
        let sum = self.index.settled()?;
        same("the areas add up to", sum, layout.sum())?;
        let score = Score {
            operations,
            bytes: (self.index.bytes(), layout.spans.len() as u64),
            digest: digest(0, [sum, operations]),
            ..score
        };
        score.outcome(exact)
    }

    fn write(&self, turn: usize) -> Result<(), Failure> {
        let (span, value) = self.writes[turn % self.writes.len()];
        let found = self.index.erase(span);
        self.index.store(span, value);
        same(
            "what is erased is",
            found.map_or(0, u64::from),
            u64::from(value),
        )
    }

    /// Runs a turn of the other thread.
    fn beside(&self, turn: usize) -> Result<(), Failure> {
        if self.computes {
            compute();
            return Ok(());
        }
        self.write(turn)
    }

    /// Runs everything on this thread: the same events in the same order each time.
    fn in_turn(&self) -> Result<(), Failure> {
        let reader = self.index.reader();
        for batch in 0..self.batches {
            for read in &self.reads {
                read.batch(self.index, &reader, batch)?;
            }
            self.beside(batch as usize)?;
        }
        Ok(())
    }
}

impl<S: SharedIndex + Sync> Race<'_, S> {
    /// Runs every reader on a thread of its own. Returns the time from the first start to the last
    /// end.
    fn at_once(&self) -> Result<Duration, Failure> {
        let (ready, left) = (AtomicUsize::new(0), AtomicUsize::new(self.reads.len()));
        let began = AtomicBool::new(false);
        let read = |read: &Read| {
            let reader = self.index.reader();
            ready.fetch_add(1, Ordering::SeqCst);
            while !began.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            let begin = Instant::now();
            let mut batches = 0..self.batches;
            let done = batches.try_for_each(|batch| read.batch(self.index, &reader, batch));
            let end = Instant::now();
            left.fetch_sub(1, Ordering::SeqCst);
            done.map(|()| (begin, end))
        };
        thread::scope(|scope| {
            let read = &read;
            let threads = self.reads.iter().map(|of| scope.spawn(move || read(of)));
            let threads: Vec<_> = threads.collect();
            while ready.load(Ordering::SeqCst) < threads.len() {
                thread::yield_now();
            }
            began.store(true, Ordering::SeqCst);
            let mut turns = 0..;
            let mut written = Ok(());
            while left.load(Ordering::SeqCst) > 0 && written.is_ok() {
                written = turns.next().map_or(Ok(()), |turn| self.beside(turn));
            }
            let spans = threads.into_iter().map(|thread| {
                let ended = thread.join();
                ended.expect("a reader does not panic")
            });
            let spans: Result<Vec<_>, Failure> = spans.collect();
            written?;
            let spans = spans?;
            let begin = spans.iter().map(|(begin, _)| *begin).min();
            let end = spans.iter().map(|(_, end)| *end).max();
            let span = begin.zip(end).map(|(begin, end)| end - begin);
            span.ok_or_else(|| Failure("there is no reader thread".to_owned()))
        })
    }
}
