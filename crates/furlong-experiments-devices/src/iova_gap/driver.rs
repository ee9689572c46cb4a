//! A workload on an allocator: batches of pairs, each a reservation and a release.

use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong::addr::{Address, Extent, Iova};
use furlong_spec::Random;

use super::allocator::{AddressAllocator, Ask, PAGE};
use super::workload::Shape;
use crate::batches::in_batches;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Operations between two clock readings: few enough that their drawn inputs stay in the
/// first-level cache, many enough that the clock costs less than a cycle per operation.
const BATCH: u64 = 256;

/// Marks a request that found no place. No page begins there.
const NOWHERE: u64 = u64::MAX;

/// Runs one sample of a workload on an allocator.
///
/// An operation is a pair. In a churn it releases one extent and reserves another; otherwise it
/// reserves one and releases it.
///
/// # Errors
/// The workload is not known, the allocator cannot be filled, or an answer is wrong.
pub fn run<A: AddressAllocator>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    let mut driver = Driver::<A>::new(shape, request.seed)?;
    let warm = if shape.is_churn() {
        2 * shape.extents
    } else {
        BATCH
    };
    driver.batches(warm)?;
    let before = driver.subject.visits();
    let operations = request.operations.max(1);
    let timed = driver.batches(operations)?;
    let visits = driver.subject.visits().zip(before);
    let per_op = |total: f64| total / operations as f64;
    let metrics = if request.exact {
        let visits = visits.map(|(after, before)| per_op((after - before) as f64));
        visits.map(|visits| ("nodes_visited_per_op", visits))
    } else {
        Some(("time_ns_per_op", per_op(timed.as_secs_f64() * 1e9)))
    };
    Ok(Outcome::new(operations, timed, driver.finish()?, metrics))
}

/// One drawn operation.
#[derive(Clone, Copy)]
struct Step {
    ask: Ask,
    /// Index of the extent to release, where extents are replaced.
    victim: u32,
}

struct Driver<A: AddressAllocator> {
    shape: Shape,
    random: Random,
    subject: A,
    /// Live extents, in ascending order unless extents are replaced, and their grants.
    live: Vec<Extent<Iova>>,
    grants: Vec<Option<A::Grant>>,
    steps: Vec<Step>,
    starts: Vec<u64>,
    digest: u64,
}

impl<A: AddressAllocator> Driver<A> {
    fn new(shape: Shape, seed: u64) -> Result<Self, Failure> {
        let mut random = Random::new(seed);
        let mut subject = A::new(shape.space(), PAGE)?;
        let mut live = shape.layout(&mut random);
        random.shuffle(&mut live);
        let grants: Vec<_> = subject.fill(&live)?.into_iter().map(Some).collect();
        if grants.len() != live.len() {
            return Err(Failure("the untimed reservations failed".to_owned()));
        }
        if !shape.is_churn() {
            live.sort_unstable_by_key(Extent::start);
        }
        Ok(Self {
            shape,
            random,
            subject,
            live,
            grants,
            steps: Vec::new(),
            starts: vec![NOWHERE; BATCH as usize],
            digest: 0,
        })
    }

    /// Runs `operations` operations and returns their time.
    fn batches(&mut self, operations: u64) -> Result<Duration, Failure> {
        in_batches(operations, BATCH, |operations| self.batch(operations))
    }

    fn batch(&mut self, operations: usize) -> Result<Duration, Failure> {
        self.steps.clear();
        for _ in 0..operations {
            let victim = self.random.index(self.live.len()) as u32;
            let ask = self.shape.ask(&mut self.random);
            self.steps.push(Step { ask, victim });
        }
        let steps = black_box(self.steps.as_slice());
        let starts = &mut self.starts[..operations];
        let begin = Instant::now();
        if self.shape.is_churn() {
            replace(&mut self.subject, &mut self.grants, steps, starts);
        } else {
            come_and_go(&mut self.subject, steps, starts);
        }
        let timed = begin.elapsed();
        self.judge(operations)?;
        Ok(timed)
    }

    /// Checks the answers of a batch, and updates the live extents.
    fn judge(&mut self, operations: usize) -> Result<(), Failure> {
        let starts = &self.starts[..operations];
        for (step, start) in self.steps.iter().zip(starts) {
            let granted = granted(&step.ask, *start)?;
            if self.shape.is_churn() {
                self.live[step.victim as usize] = granted;
            } else {
                let next = self.live.partition_point(|e| e.last() < granted.start());
                if let Some(owner) = self.live.get(next).filter(|e| e.overlaps(&granted)) {
                    let text = format!("{granted:?} was granted although {owner:?} is reserved");
                    return Err(Failure(text));
                }
            }
        }
        if self.shape.is_decided() {
            self.digest = digest(self.digest, starts.iter().copied());
        }
        Ok(())
    }

    /// Compares the allocator with the live extents, then returns a digest of all answers.
    fn finish(mut self) -> Result<u64, Failure> {
        self.live.sort_unstable_by_key(Extent::start);
        if self.live.windows(2).any(|pair| pair[0].overlaps(&pair[1])) {
            return Err(Failure("an address was granted twice".to_owned()));
        }
        if joined(self.subject.reserved()?) != joined(self.live.iter().copied()) {
            let text = "the reserved extents differ from the granted ones";
            return Err(Failure(text.to_owned()));
        }
        let ends = self.live.iter().flat_map(|e| [e.start(), e.last()]);
        Ok(digest(self.digest, ends.map(Address::raw)))
    }
}

/// Merges adjacent extents, given in ascending order: an allocator of gaps does not record their
/// borders.
pub fn joined(extents: impl IntoIterator<Item = Extent<Iova>>) -> Vec<Extent<Iova>> {
    let mut joined: Vec<Extent<Iova>> = Vec::new();
    for extent in extents {
        let before = joined.last_mut();
        match before.filter(|before| before.end() == Some(extent.start())) {
            Some(before) => {
                let both = Extent::from_last(before.start(), extent.last());
                *before = both.expect("the second one ends behind the first");
            }
            None => joined.push(extent),
        }
    }
    joined
}

/// Returns the granted extent if it satisfies the request.
fn granted(ask: &Ask, start: u64) -> Result<Extent<Iova>, Failure> {
    if start == NOWHERE {
        return Err(Failure(format!("no gap was found for {ask:?}")));
    }
    let granted = Extent::from_len(Iova::new(start), ask.size);
    let suits = |extent: &Extent<Iova>| {
        start.is_multiple_of(ask.align) && start >= ask.low && extent.last().raw() <= ask.high
    };
    let refusal = || Failure(format!("{ask:?} returned the wrong address {start:#x}"));
    granted.filter(suits).ok_or_else(refusal)
}

#[inline(never)]
fn come_and_go<A: AddressAllocator>(subject: &mut A, steps: &[Step], starts: &mut [u64]) {
    for (step, answer) in steps.iter().zip(starts) {
        *answer = NOWHERE;
        if let Some((start, grant)) = subject.reserve(&step.ask) {
            *answer = start;
            subject.release(grant);
        }
    }
}

#[inline(never)]
fn replace<A: AddressAllocator>(
    subject: &mut A,
    grants: &mut [Option<A::Grant>],
    steps: &[Step],
    starts: &mut [u64],
) {
    for (step, answer) in steps.iter().zip(starts) {
        let place = &mut grants[step.victim as usize];
        if let Some(grant) = place.take() {
            subject.release(grant);
        }
        *answer = NOWHERE;
        if let Some((start, grant)) = subject.reserve(&step.ask) {
            *answer = start;
            *place = Some(grant);
        }
    }
}
