//! CPUs on the slots of a pool: timed without counting, or counted without reading the clock.
#![forbid(unsafe_code)]

use std::time::Duration;

use furlong::bounce::{Area, Off, Order, SLOT, Tally};
use furlong_spec::Random;

use super::copies;
use super::mapper::Mapper;
use super::shape::{Kind, Shape};
use super::slots::Slots;
use super::test_memory::TOP;
use super::worker::{TURN, Worker, claim};
use crate::cpu_binding::CpuBinding;
use crate::iova_magazine::become_cpu;
use crate::iova_magazine::watch::{Blind, Claims};
use crate::threads::{at_once, in_turn};
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Turns before the clock starts, in which every mapping is checked.
const WATCHED: u64 = 64;

/// Maximum turns in which waits for a lock are counted.
const COUNTED: u64 = 4096;

/// Runs one sample: an operation is an unmap and a map.
///
/// # Errors
/// Two mappings shared slots, or a slot was not freed.
pub(super) fn run<O: Order, A: Area>(shape: &Shape, request: &Request) -> Result<Outcome, Failure> {
    if request.exact {
        let (turns, operations, digest) = begun(shape, request);
        let slots = Slots::<O, A, Tally>::new(shape.areas)?;
        let mut field = Field::new(shape, request.seed, slots)?;
        let before = field.mapper.counts();
        field.count(turns)?;
        let counts = field.mapper.counts() - before;
        field.finish()?;
        let metrics = counts.probes(operations);
        return Ok(Outcome::new(operations, Duration::ZERO, digest, metrics));
    }
    let slots = Slots::<O, A, Off>::new(shape.areas)?;
    timed(shape, request, slots, |turns| {
        let slots = Slots::<O, A, Tally>::new(shape.areas)?;
        let mut field = Field::new(shape, request.seed, slots)?;
        let before = field.mapper.counts();
        field.time(turns)?;
        let counts = field.mapper.counts() - before;
        field.finish()?;
        Ok(counts.waits)
    })
}

/// Returns the turns of a sample, its operations, and its digest.
fn begun(shape: &Shape, request: &Request) -> (u64, u64, u64) {
    let a_turn = (TURN * shape.threads) as u64;
    let turns = request.operations.div_ceil(a_turn).max(1);
    let operations = turns * a_turn;
    let live = (shape.outstanding * shape.threads) as u64;
    (turns, operations, digest(0, [operations, live]))
}

/// Times a sample without counting.
///
/// # Shapes
/// `waits` runs the given number of turns and returns how often CPUs waited for a lock. It is
/// called only if there are several CPUs.
pub(super) fn timed<M: Mapper>(
    shape: &Shape,
    request: &Request,
    mapper: M,
    waits: impl FnOnce(u64) -> Result<u64, Failure>,
) -> Result<Outcome, Failure> {
    let (turns, operations, digest) = begun(shape, request);
    let mut field = Field::new(shape, request.seed, mapper)?;
    let timed = field.time(turns)?;
    field.finish()?;
    let time_ns = timed.as_secs_f64() * 1e9 / operations as f64;
    let mut values = vec![("time_ns_per_map", time_ns)];
    if shape.threads == 1 {
        // A single CPU never waits.
        values.push(("lock_waits_per_map", 0.0));
        let memcpy_ns = copies::memcpy_ns(shape.len, operations);
        values.push(("memcpy_ratio", time_ns / memcpy_ns));
    } else {
        let counted = turns.min(COUNTED);
        let maps = operations / turns * counted;
        values.push(("lock_waits_per_map", waits(counted)? as f64 / maps as f64));
    }
    Ok(Outcome::new(operations, timed, digest, values))
}

/// A mapper, and the CPUs that use it.
pub(super) struct Field<M: Mapper> {
    pub(super) mapper: M,
    binding: CpuBinding,
    len: usize,
    /// Mappings that fill the pool to the workload's level.
    filling: Vec<M::Mapping>,
    workers: Vec<Worker<M>>,
}

impl<M: Mapper> Field<M> {
    /// Makes the CPUs and gives each some turns with every mapping checked.
    pub(super) fn new(shape: &Shape, seed: u64, mapper: M) -> Result<Self, Failure> {
        become_cpu(0);
        let len = shape.len;
        let mut random = Random::new(seed);
        let claims = Claims::new(TOP - 1, SLOT);
        let filling = match shape.kind {
            Kind::FullSlots => fill(&mapper, len, &mut random)?,
            _ => Vec::new(),
        };
        for mapping in &filling {
            claim(&claims, M::address(*mapping), len);
        }
        let work = (len, shape.outstanding);
        let worker = |number| {
            shape.binding.play(number);
            Worker::new(work, &mut random, &mapper, &claims)
        };
        let workers = (0..shape.threads).map(worker);
        let mut workers = workers.collect::<Result<Vec<_>, _>>()?;
        let watched = |worker: &mut Worker<M>| worker.turn(&mapper, &claims);
        match M::COUNTS {
            // Counts must be the same every time, from the first turn on.
            true => in_turn(&mut workers, shape.binding, WATCHED, watched)?,
            false => at_once(&mut workers, shape.binding, WATCHED, watched)?,
        };
        claims.verdict()?;
        Ok(Self {
            mapper,
            binding: shape.binding,
            len,
            filling,
            workers,
        })
    }

    /// Runs `turns` turns of all CPUs concurrently and returns their time.
    pub(super) fn time(&mut self, turns: u64) -> Result<Duration, Failure> {
        let mapper = &self.mapper;
        at_once(&mut self.workers, self.binding, turns, |worker| {
            worker.turn(mapper, &Blind)
        })
    }

    /// The same, one CPU after the other.
    fn count(&mut self, turns: u64) -> Result<Duration, Failure> {
        let mapper = &self.mapper;
        in_turn(&mut self.workers, self.binding, turns, |worker| {
            worker.turn(mapper, &Blind)
        })
    }

    /// Unmaps everything, and checks that nothing is left.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let (mapper, len) = (self.mapper, self.len);
        let mut workers = self.workers.into_iter();
        workers.try_for_each(|worker| worker.finish(&mapper))?;
        let mut filling = self.filling.into_iter();
        filling.try_for_each(|mapping| mapper.unmap(mapping, len))?;
        mapper.finish()
    }
}

/// Maps until there is no room, then unmaps one mapping in eight at random.
fn fill<M: Mapper>(
    mapper: &M,
    len: usize,
    random: &mut Random,
) -> Result<Vec<M::Mapping>, Failure> {
    let mut filling = Vec::new();
    while let Some(mapping) = mapper.map(len) {
        filling.push(mapping);
    }
    random.shuffle(&mut filling);
    let gone = filling.split_off(filling.len() - filling.len() / 8);
    let mut gone = gone.into_iter();
    gone.try_for_each(|mapping| mapper.unmap(mapping, len))?;
    Ok(filling)
}
