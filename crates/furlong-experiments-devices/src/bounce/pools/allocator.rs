//! A plain allocator of slots, as driver authors write it: under a lock, with the copies done by
//! the caller.
//!
//! It has one row of slots, as many as the pool, and one lock for all CPUs, of the same type as an
//! area of the pool has. The caller keeps its runs: freeing one needs no lookup, allocating one
//! writes no record, and no device limits are checked.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::time::Instant;

use furlong::addr::Iova;
use furlong::bounce::SLOT;
use furlong::sync::Lock;

use crate::bounce::buffer::Buffer;
use crate::bounce::mapper::Mapper;
use crate::bounce::pool::{BLOCK_SLOTS, BLOCKS};
use crate::bounce::shape::{Kind, Shape};
use crate::bounce::test_memory::STRIDE;
use crate::bounce::{YieldingLock, copies, driver};
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Slots in all blocks of the pool.
const SLOTS: usize = BLOCKS * BLOCK_SLOTS;

/// Hands out runs of slots by number: one side of a race.
pub trait SlotAllocator: Send + Sized {
    /// Handle that frees a run.
    type Run: Copy + Send;

    /// Makes `slots` free slots, a power of two.
    fn new(slots: usize) -> Self;

    /// Allocates a run of `slots` slots, or `None` if none is free.
    fn allocate(&mut self, slots: usize) -> Option<Self::Run>;

    /// Returns the number of a run's first slot.
    fn first(run: Self::Run) -> usize;

    /// Frees a run of `slots` slots.
    fn free(&mut self, run: Self::Run, slots: usize);
}

/// Runs one sample of a workload on an allocator under a lock.
///
/// # Errors
/// The workload is not known or maps nothing, two mappings overlapped, or data came back changed.
pub fn run_allocator<A: SlotAllocator>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    match shape.kind {
        Kind::Slots | Kind::FullSlots => driver::timed(
            &shape,
            request,
            LockedAllocator::<A, false>::new(),
            |turns| {
                let mut field =
                    driver::Field::new(&shape, request.seed, LockedAllocator::<A, true>::new())?;
                let before = field.mapper.waits.load(Ordering::SeqCst);
                field.time(turns)?;
                let waits = field.mapper.waits.load(Ordering::SeqCst) - before;
                field.finish()?;
                Ok(waits)
            },
        ),
        Kind::Copies => {
            let mut bench = Bench::<A>::new();
            bench.check(shape.len)?;
            let outcome = copies::timed(&shape, request, |pairs| bench.pairs(shape.len, pairs));
            bench.shared.finish()?;
            outcome
        }
        Kind::Memcpy | Kind::Io(_) => {
            let name = &request.workload.name;
            Err(Failure(format!("`{name}` does not run on slot allocators")))
        }
    }
}

/// The reason if an allocator cannot run a workload, otherwise `None`.
#[must_use]
pub fn allocator_limit(workload: &Workload) -> Option<String> {
    let lack = match workload.read() {
        Ok(Kind::Memcpy) => "nothing is mapped",
        _ if workload.params.contains_key("pool_first") => "it has no areas to go through",
        _ => return None,
    };
    Some(lack.to_owned())
}

fn slots(len: usize) -> usize {
    len.div_ceil(SLOT as usize)
}

/// An allocator under the same lock as the areas in the arms. Waits for it are counted or not.
struct LockedAllocator<A, const COUNTS: bool> {
    allocator: Lock<YieldingLock, A>,
    /// True while the lock is held; kept only if waits are counted.
    held: AtomicBool,
    waits: AtomicU64,
}

impl<A: SlotAllocator, const COUNTS: bool> LockedAllocator<A, COUNTS> {
    fn new() -> Self {
        Self {
            allocator: Lock::new(YieldingLock::default(), A::new(SLOTS)),
            held: AtomicBool::new(false),
            waits: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    fn with<T>(&self, work: impl FnOnce(&mut A) -> T) -> T {
        if COUNTS && self.held.load(Ordering::SeqCst) {
            self.waits.fetch_add(1, Ordering::SeqCst);
        }
        let mut allocator = self.allocator.lock();
        if COUNTS {
            self.held.store(true, Ordering::SeqCst);
        }
        let done = work(&mut allocator);
        if COUNTS {
            self.held.store(false, Ordering::SeqCst);
        }
        done
    }
}

impl<A: SlotAllocator, const COUNTS: bool> Mapper for LockedAllocator<A, COUNTS> {
    type Mapping = A::Run;
    const COUNTS: bool = COUNTS;

    #[inline(always)]
    fn map(&self, len: usize) -> Option<A::Run> {
        self.with(|allocator| allocator.allocate(slots(len)))
    }

    #[inline(always)]
    fn unmap(&self, run: A::Run, len: usize) -> Result<(), Failure> {
        self.with(|allocator| allocator.free(run, slots(len)));
        Ok(())
    }

    #[inline(always)]
    fn address(run: A::Run) -> Iova {
        Iova::new(STRIDE + A::first(run) as u64 * SLOT)
    }

    /// Checks that everything is free, by allocating all slots at once.
    fn finish(self) -> Result<(), Failure> {
        let all = self.with(|allocator| allocator.allocate(SLOTS));
        let missing = || Failure(format!("some of the {SLOTS} slots are not free at the end"));
        all.map(drop).ok_or_else(missing)
    }
}

/// An allocator and the memory of its slots.
struct Bench<A> {
    shared: LockedAllocator<A, false>,
    memory: Buffer,
}

impl<A: SlotAllocator> Bench<A> {
    fn new() -> Self {
        Self {
            shared: LockedAllocator::new(),
            memory: Buffer::new(SLOTS * SLOT as usize, 5),
        }
    }

    /// Copies a buffer into a run, calls `between` on the buffer, and copies the run back.
    #[inline(always)]
    fn pair(&mut self, buffer: &mut [u8], between: impl FnOnce(&mut [u8])) -> Result<(), Failure> {
        let len = buffer.len();
        let full = || Failure(format!("the pool had no room for {len} bytes"));
        let run = self.shared.map(len).ok_or_else(full)?;
        let from = A::first(run) * SLOT as usize;
        self.memory.slice()[from..from + len].copy_from_slice(buffer);
        // A driver writes this into a descriptor. From here a device may change the memory.
        black_box(LockedAllocator::<A, false>::address(run));
        let bounced = black_box(&mut self.memory.slice()[from..from + len]);
        between(buffer);
        buffer.copy_from_slice(bounced);
        self.shared.unmap(run, len)
    }

    /// Checks that data survives a pair: the buffer is overwritten in between.
    fn check(&mut self, len: usize) -> Result<(), Failure> {
        let mut buffer = Buffer::new(len, 3);
        let expected = buffer.slice().to_vec();
        self.pair(buffer.slice(), |buffer| buffer.fill(0xff))?;
        match buffer.slice() == expected {
            true => Ok(()),
            false => Err(Failure("the pool changed the data".to_owned())),
        }
    }

    /// Runs `pairs` pairs with one buffer and returns their time.
    fn pairs(&mut self, len: usize, pairs: u64) -> Result<Duration, Failure> {
        let mut buffer = Buffer::new(len, 4);
        let begin = Instant::now();
        for _ in 0..pairs {
            self.pair(buffer.slice(), |_| ())?;
        }
        Ok(begin.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::{Bench, LockedAllocator, Mapper, SLOTS, SlotAllocator, run_allocator};
    use crate::bounce_area;

    /// A list of slots, with the defect that its parameter selects.
    struct List<const WRONG: u8>(Vec<bool>);

    const RIGHT: u8 = 0;
    const LEAKS: u8 = 1;
    const TWICE: u8 = 2;

    impl<const WRONG: u8> SlotAllocator for List<WRONG> {
        type Run = usize;

        fn new(slots: usize) -> Self {
            Self(vec![true; slots])
        }

        fn allocate(&mut self, slots: usize) -> Option<usize> {
            let is_free = |run: &[bool]| run.iter().all(|free| *free);
            let first = self.0.windows(slots).position(is_free)?;
            let taken = first..first + if WRONG == TWICE { 1 } else { slots };
            self.0[taken].fill(false);
            Some(first)
        }

        fn first(run: usize) -> usize {
            run
        }

        fn free(&mut self, run: usize, slots: usize) {
            // The first slot is never freed.
            let from = if WRONG == LEAKS { run.max(1) } else { run };
            self.0[from..run + slots].fill(true);
        }
    }

    fn sample<const WRONG: u8>(name: &str) -> Result<f64, String> {
        let experiment = bounce_area::experiment();
        let request = experiment.request(name, 300, false);
        let ours = (experiment.arms[0].run)(&request).expect("the pool is right");
        let theirs = run_allocator::<List<WRONG>>(&request).map_err(|failure| failure.0)?;
        assert_eq!(theirs.digest, ours.digest, "{name}");
        assert!(theirs.metrics.keys().eq(ours.metrics.keys()), "{name}");
        Ok(theirs.metrics["time_ns_per_map"])
    }

    #[test]
    fn an_allocator_does_what_the_pool_does() {
        for name in ["empty-4k-1t", "full-87-64k-2t", "overflow-4k-2t", "copy-4k"] {
            assert!(sample::<RIGHT>(name).expect(name) > 0.0);
        }
    }

    #[test]
    fn slots_that_are_lost_or_given_twice_are_seen() {
        for name in ["empty-4k-1t", "copy-64k"] {
            let why = sample::<LEAKS>(name).unwrap_err();
            assert!(
                why.contains("slots are not free at the end"),
                "{name}: {why}"
            );
        }
        let why = sample::<TWICE>("outstanding-16-4k-1t").unwrap_err();
        assert!(why.contains("although it was already in use"), "{why}");
    }

    #[test]
    fn a_workload_that_maps_nothing_is_refused_by_name() {
        let request = bounce_area::experiment().request("memcpy-4k", 1, false);
        let refused = run_allocator::<List<RIGHT>>(&request).unwrap_err();
        assert!(refused.0.contains("`memcpy-4k`"), "{}", refused.0);
    }

    #[test]
    fn a_pair_touches_no_run_but_its_own() {
        let mut bench = Bench::<List<RIGHT>>::new();
        bench.check(4096).expect("they come back");
        // Another run, which the next pair must not touch.
        let run = bench.shared.map(4096).expect("there is room");
        let from = List::<RIGHT>::first(run) * 2048;
        bench.memory.slice()[from..from + 4096].fill(7);
        bench.check(4096).expect("they come back");
        assert!(
            bench.memory.slice()[from..from + 4096]
                .iter()
                .all(|byte| *byte == 7)
        );
    }

    #[test]
    fn whoever_finds_the_lock_held_is_counted() {
        let shared = LockedAllocator::<List<RIGHT>, true>::new();
        let nested = |shared: &LockedAllocator<List<RIGHT>, true>| {
            let held = shared.held.load(std::sync::atomic::Ordering::SeqCst);
            shared.with(|_| shared.held.load(std::sync::atomic::Ordering::SeqCst)) && !held
        };
        assert!(nested(&shared));
        shared.held.store(true, std::sync::atomic::Ordering::SeqCst);
        shared.with(|_| ());
        assert_eq!(shared.waits.load(std::sync::atomic::Ordering::SeqCst), 1);
        assert_eq!(SLOTS, 2048);
    }
}
