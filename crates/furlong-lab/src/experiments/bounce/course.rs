//! CPUs on the slots of a pool: timed without counting, counted without a look at the clock.
#![forbid(unsafe_code)]

use std::time::Duration;

use furlong::addr::Iova;
use furlong::bounce::{Area, Counters, Off, Order, SLOT, Tally};
use furlong_spec::Random;

use super::copies;
use super::counts::{Counts, metrics};
use super::ground::TOP;
use super::shape::{Kind, Shape};
use super::slots::Slots;
use super::worker::{TURN, Worker, claim};
use crate::experiments::crew::{at_once, in_turn};
use crate::experiments::iova_magazine::become_cpu;
use crate::experiments::iova_magazine::watch::{Blind, Claims};
use crate::experiments::seats::Seats;
use crate::experiments::{Failure, Outcome, Request};
use crate::hash::digest;

/// Turns in which every mapping is looked at, before the clock runs.
const WATCHED: u64 = 64;

/// Turns in which waits for a lock are counted, at most.
const COUNTED: u64 = 4096;

/// Runs one sample: an operation is an unmap and a map.
///
/// # Errors
/// A mapping got slots that another had, or something was left behind.
pub(super) fn run<O: Order, A: Area>(shape: &Shape, request: &Request) -> Result<Outcome, Failure> {
    let a_turn = (TURN * shape.threads) as u64;
    let turns = request.operations.div_ceil(a_turn).max(1);
    let operations = turns * a_turn;
    let live = (shape.outstanding * shape.threads) as u64;
    let mut outcome = Outcome {
        operations,
        digest: digest(0, [operations, live]),
        ..Outcome::default()
    };
    if request.exact {
        let mut field = Field::<O, A, Tally>::new(shape, request.seed)?;
        let counts = field.count(turns)?;
        field.finish()?;
        outcome.metrics = counts.probes(operations);
        return Ok(outcome);
    }
    let mut field = Field::<O, A, Off>::new(shape, request.seed)?;
    let timed = field.time(turns)?;
    field.finish()?;
    let time_ns = timed.as_secs_f64() * 1e9 / operations as f64;
    outcome.elapsed_s = timed.as_secs_f64();
    let mut values = vec![("time_ns_per_map", time_ns)];
    if shape.threads == 1 {
        // Nobody is waited for.
        values.push(("lock_waits_per_map", 0.0));
        let memcpy_ns = copies::memcpy_ns(shape.len, operations);
        values.push(("memcpy_ratio", time_ns / memcpy_ns));
    } else {
        let turns = turns.min(COUNTED);
        let waits = waits::<O, A>(shape, request.seed, turns)?;
        values.push(("lock_waits_per_map", waits as f64 / (turns * a_turn) as f64));
    }
    outcome.metrics = metrics(values);
    Ok(outcome)
}

/// How often CPUs waited for a lock in so many turns, in a pool that counts.
fn waits<O: Order, A: Area>(shape: &Shape, seed: u64, turns: u64) -> Result<u64, Failure> {
    let mut field = Field::<O, A, Tally>::new(shape, seed)?;
    let before = field.slots.counts();
    let slots = &field.slots;
    at_once(&mut field.workers, shape.seats, turns, |worker| {
        worker.turn(slots, &Blind)
    })?;
    let counts = field.slots.counts() - before;
    field.finish()?;
    Ok(counts.waits)
}

/// A pool, and the CPUs that use it.
struct Field<O: Order, A: Area, K: Counters> {
    slots: Slots<O, A, K>,
    seats: Seats,
    /// What makes the pool as full as the workload says.
    filling: Vec<Iova>,
    workers: Vec<Worker>,
}

impl<O: Order, A: Area, K: Counters> Field<O, A, K> {
    /// Every CPU has had some turns in which all that it got was looked at.
    fn new(shape: &Shape, seed: u64) -> Result<Self, Failure> {
        become_cpu(0);
        let slots = Slots::<O, A, K>::new(shape.areas)?;
        let mut random = Random::new(seed);
        let claims = Claims::new(TOP - 1, SLOT);
        let filling = match shape.kind {
            Kind::Slots { full: true } => fill(&slots, shape.len, &mut random)?,
            _ => Vec::new(),
        };
        filling.iter().for_each(|at| claim(&claims, *at, shape.len));
        let work = (shape.len, shape.outstanding);
        let worker = |number| {
            shape.seats.play(number);
            Worker::new(work, &mut random, &slots, &claims)
        };
        let workers = (0..shape.threads).map(worker);
        let mut workers = workers.collect::<Result<Vec<_>, _>>()?;
        let watched = |worker: &mut Worker| worker.turn(&slots, &claims);
        match K::ON {
            // Counts are to be the same every time, from the first one on.
            true => in_turn(&mut workers, shape.seats, WATCHED, watched)?,
            false => at_once(&mut workers, shape.seats, WATCHED, watched)?,
        };
        claims.verdict()?;
        Ok(Self {
            slots,
            seats: shape.seats,
            filling,
            workers,
        })
    }

    fn time(&mut self, turns: u64) -> Result<Duration, Failure> {
        let slots = &self.slots;
        at_once(&mut self.workers, self.seats, turns, |worker| {
            worker.turn(slots, &Blind)
        })
    }

    fn count(&mut self, turns: u64) -> Result<Counts, Failure> {
        let slots = &self.slots;
        let before = slots.counts();
        in_turn(&mut self.workers, self.seats, turns, |worker| {
            worker.turn(slots, &Blind)
        })?;
        Ok(slots.counts() - before)
    }

    /// Gives everything back, and looks at what is left.
    fn finish(self) -> Result<(), Failure> {
        let slots = self.slots;
        let mut workers = self.workers.into_iter();
        workers.try_for_each(|worker| worker.finish(&slots))?;
        let mut filling = self.filling.into_iter();
        filling.try_for_each(|at| slots.unmap(at))?;
        slots.finish()
    }
}

/// Maps until there is no room, and unmaps one in eight at random.
fn fill<O: Order, A: Area, K: Counters>(
    slots: &Slots<O, A, K>,
    len: usize,
    random: &mut Random,
) -> Result<Vec<Iova>, Failure> {
    let mut filling = Vec::new();
    while let Some(at) = slots.map(len) {
        filling.push(at);
    }
    random.shuffle(&mut filling);
    let gone = filling.split_off(filling.len() - filling.len() / 8);
    gone.into_iter().try_for_each(|at| slots.unmap(at))?;
    Ok(filling)
}
