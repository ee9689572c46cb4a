//! Copied buffers: into the pool and back, and for comparison without the pool.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong::bounce::{Area, Both, Counters, Off, Order, Tally};

use super::buffer::Buffer;
use super::counts::Counts;
use super::pool::{self, Pooled};
use super::shape::Shape;
use super::test_memory::TestMemory;
use crate::iova_magazine::become_cpu;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};

/// Maximum bytes copied to measure the time of a copy.
const SPAN: usize = 256 << 20;

/// Copies a buffer to another and back, `copies` copies in all. Returns their time.
fn copied(len: usize, copies: u64) -> Duration {
    let (mut here, mut there) = (Buffer::new(len, 1), Buffer::new(len, 2));
    let (mut from, mut to) = (here.slice(), there.slice());
    let begin = Instant::now();
    for _ in 0..copies {
        black_box(&mut *to).copy_from_slice(black_box(&*from));
        std::mem::swap(&mut from, &mut to);
    }
    begin.elapsed()
}

/// Time of a copy of `len` bytes in a cache, measured over up to `operations` copies.
pub(super) fn memcpy_ns(len: usize, operations: u64) -> f64 {
    let copies = operations.min((SPAN / len) as u64).max(1);
    copied(len, copies.div_ceil(8));
    copied(len, copies).as_secs_f64() * 1e9 / copies as f64
}

fn outcome<const N: usize>(
    operations: u64,
    timed: Duration,
    metrics: [(&'static str, f64); N],
) -> Result<Outcome, Failure> {
    let digest = digest(0, [operations]);
    Ok(Outcome::new(operations, timed, digest, metrics))
}

/// Takes one sample of copies without a pool: an operation is one copy.
///
/// # Errors
/// None.
pub(super) fn memcpy(shape: &Shape, request: &Request) -> Result<Outcome, Failure> {
    let operations = request.operations.max(1);
    copied(shape.len, operations.div_ceil(8));
    let timed = copied(shape.len, operations);
    let time_ns = timed.as_secs_f64() * 1e9 / operations as f64;
    outcome(operations, timed, [("time_ns_per_map", time_ns)])
}

/// Takes one sample of copies through the pool: an operation is a map and an unmap, with a copy
/// each.
///
/// # Errors
/// Data came back changed, or a slot was not freed.
pub(super) fn run<O: Order, A: Area>(shape: &Shape, request: &Request) -> Result<Outcome, Failure> {
    become_cpu(0);
    if request.exact {
        let operations = request.operations.max(1);
        let bench = Bench::<O, A, Tally>::new(pool::AREAS)?;
        let before = Counts::of(&bench.pool);
        bench.pairs(shape.len, operations)?;
        let counts = Counts::of(&bench.pool) - before;
        pool::drained(&bench.pool)?;
        return outcome(operations, Duration::ZERO, counts.probes(operations));
    }
    let bench = Bench::<O, A, Off>::new(pool::AREAS)?;
    bench.check(shape.len)?;
    let outcome = timed(shape, request, |pairs| bench.pairs(shape.len, pairs))?;
    pool::drained(&bench.pool)?;
    Ok(outcome)
}

/// Times pairs, after some that warm up.
pub(super) fn timed(
    shape: &Shape,
    request: &Request,
    mut pairs: impl FnMut(u64) -> Result<Duration, Failure>,
) -> Result<Outcome, Failure> {
    let operations = request.operations.max(1);
    pairs(operations.div_ceil(8))?;
    let timed = pairs(operations)?;
    let time_ns = timed.as_secs_f64() * 1e9 / operations as f64;
    let ratio = time_ns / (2.0 * memcpy_ns(shape.len, operations));
    let metrics = [
        ("time_ns_per_map", time_ns),
        ("lock_waits_per_map", 0.0),
        ("memcpy_ratio", ratio),
    ];
    outcome(operations, timed, metrics)
}

/// A pool that copies.
type Bench<O, A, K> = Pooled<TestMemory, O, A, K>;

impl<O: Order, A: Area, K: Counters> Bench<O, A, K> {
    /// Checks that data survives the pool: the buffer is overwritten in between.
    fn check(&self, len: usize) -> Result<(), Failure> {
        let mut buffer = Buffer::new(len, 3);
        let expected = buffer.slice().to_vec();
        let mapped = self.pool.map(&self.device, Both(buffer.slice()));
        let mut mapped = mapped.map_err(Failure::of)?;
        mapped.original_mut().fill(0xff);
        drop(mapped);
        match buffer.slice() == expected {
            true => Ok(()),
            false => Err(Failure("the pool changed the data".to_owned())),
        }
    }

    /// Runs `pairs` maps and unmaps of one buffer and returns their time.
    fn pairs(&self, len: usize, pairs: u64) -> Result<Duration, Failure> {
        let mut buffer = Buffer::new(len, 4);
        let begin = Instant::now();
        for _ in 0..pairs {
            let mapped = self.pool.map(&self.device, Both(buffer.slice()));
            let mapped = mapped.map_err(Failure::of)?;
            // A driver writes this into a descriptor.
            black_box(mapped.address());
            drop(mapped);
        }
        Ok(begin.elapsed())
    }
}
