//! Real input and output. The device is a file in memory or on a disk. Its data passes through the
//! pool, or straight from and to the buffers.

mod content;
mod engine;
mod job;
mod medium;
mod originals;
mod part;
mod plain;
mod ring;
mod route;
#[cfg(test)]
mod tests;

use std::time::Duration;

use furlong::bounce::{Area, Counters, Off, Order, Tally};

use super::counts::Counts;
use super::pool;
use super::shape::{MediumKind, Shape};
use crate::cpu_binding::CpuBinding;
use crate::threads::at_once;
use engine::Means;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};
use furlong_lab::talk::say;
use job::Job;
use medium::Medium;
pub(super) use medium::why_not;
use originals::Originals;
use part::Part;
use route::{Bounced, Route, Straight};

/// Bytes in a mebibyte.
const MIB: f64 = 1_048_576.0;

/// Runs one sample: an operation is a block that is read or written.
///
/// # Errors
/// No device can be made, it fails, or a block has wrong content.
pub(super) fn run<O: Order, A: Area>(
    shape: &Shape,
    medium: MediumKind,
    request: &Request,
) -> Result<Outcome, Failure> {
    let mut bench = Bench::new(shape, medium, request.seed)?;
    let a_batch = bench.blocks_a_round();
    let batches = request.operations.div_ceil(a_batch).max(1);
    let operations = batches * a_batch;
    // The seed picks the first phase, because the first one finds the device in another state.
    let straight_first = request.seed.is_multiple_of(2);
    let before = straight_first.then(|| bench.phase(&Straight, batches));
    let through = bench.bounced::<O, A, Off>(batches)?.0;
    let straight = before.unwrap_or_else(|| bench.phase(&Straight, batches))?;
    let waits = match shape.threads {
        1 => 0.0,
        _ => {
            let counts = bench.bounced::<O, A, Tally>(1)?.1;
            // The untimed warm-up batch is counted too.
            counts.waits as f64 / (2 * a_batch) as f64
        }
    };
    let metrics = [
        (
            "bandwidth_mib_s",
            bench.bandwidth(operations, through.elapsed),
        ),
        (
            "direct_mib_s",
            bench.bandwidth(operations, straight.elapsed),
        ),
        ("pool_share_pct", 100.0 * through.share(shape.threads)),
        ("lock_waits_per_map", waits),
    ];
    bench.verify()?;
    let parts = bench.parts.iter();
    let digest = parts.fold(0, |sum, part| digest(sum, part.words()));
    Ok(Outcome::new(operations, through.elapsed, digest, metrics))
}

/// Times of a phase.
struct Phase {
    elapsed: Duration,
    /// Time of all jobs between calls of the pool and their returns.
    in_pool: Duration,
}

impl Phase {
    /// Share of the jobs' time that is spent in the pool.
    fn share(&self, jobs: usize) -> f64 {
        self.in_pool.as_secs_f64() / (self.elapsed.as_secs_f64() * jobs as f64)
    }
}

/// A device, and jobs with a part of it each.
struct Bench {
    medium: Medium,
    means: Means,
    len: usize,
    parts: Vec<Part>,
    /// Buffers, by job.
    originals: Vec<Originals>,
}

impl Bench {
    fn new(shape: &Shape, medium: MediumKind, seed: u64) -> Result<Self, Failure> {
        let part = shape.blocks * shape.len;
        let medium = Medium::create(medium, (part * shape.threads) as u64)?;
        let means = Means::here();
        let notes = [medium.note.as_deref(), means.note()];
        notes.into_iter().flatten().for_each(say);
        let part = |job| Part::new(job * shape.blocks, shape.blocks, shape.len, seed);
        let parts: Vec<Part> = (0..shape.threads).map(part).collect();
        parts.iter().try_for_each(|part| part.fill(&medium.file))?;
        let originals = |_| Originals::new(shape.outstanding, shape.len);
        Ok(Self {
            originals: (0..shape.threads).map(originals).collect(),
            len: shape.len,
            medium,
            means,
            parts,
        })
    }

    fn blocks_a_round(&self) -> u64 {
        self.parts.iter().map(Part::blocks_a_round).sum()
    }

    fn bandwidth(&self, blocks: u64, elapsed: Duration) -> f64 {
        (blocks as f64 * self.len as f64) / MIB / elapsed.as_secs_f64()
    }

    /// Runs `batches` batches through a new pool, and returns its counts.
    fn bounced<O: Order, A: Area, K: Counters>(
        &mut self,
        batches: u64,
    ) -> Result<(Phase, Counts), Failure> {
        let route = Bounced::<O, A, K>::new(pool::AREAS)?;
        let phase = self.phase(&route, batches)?;
        pool::drained(&route.pool)?;
        Ok((phase, Counts::of(&route.pool)))
    }

    /// Runs `batches` timed batches of every job, after an untimed one.
    fn phase(&mut self, route: &impl Route, batches: u64) -> Result<Phase, Failure> {
        let mut jobs = vec![];
        for (part, originals) in self.parts.iter_mut().zip(&self.originals) {
            let engine = self.means.engine(&self.medium.file, originals)?;
            jobs.push(Job::new(route, engine, originals, part));
        }
        at_once(&mut jobs, CpuBinding::Own, 1, Job::batch)?;
        jobs.iter_mut().for_each(|job| job.in_pool = Duration::ZERO);
        let elapsed = at_once(&mut jobs, CpuBinding::Own, batches, Job::batch)?;
        let in_pool = jobs.iter().map(|job| job.in_pool).sum();
        Ok(Phase { elapsed, in_pool })
    }

    /// Checks that every byte of the device is what was last written.
    fn verify(&self) -> Result<(), Failure> {
        let mut parts = self.parts.iter();
        parts.try_for_each(|part| part.verify(&self.medium.file))
    }
}
