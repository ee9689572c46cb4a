//! CPUs under a workload. Each has a thread of its own for timing; all take turns on one thread for
//! counting.

use furlong::addr::{Extent, Iova};
use furlong_spec::Random;
use serde::Deserialize;

use super::shared::{SharedAllocator, become_cpu};
use super::watch::{Blind, Claims, Watch};
use super::worker::{TURN, Worker};
use crate::cpu_binding::CpuBinding;
use crate::threads::{at_once, in_turn};
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Last byte of the space: the highest address of a device with 32 address lines.
const LAST: u64 = (1 << 32) - 1;

/// Turns before the clock starts, in which every grant is checked.
const WATCHED: u64 = 256;

/// A parsed workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    kind: Kind,
    threads: usize,
}

/// Kinds of workloads, as the plan names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// A network card's ring on each CPU.
    Card,
    /// An NVMe queue on each CPU.
    Queue,
    /// One CPU reserves, the other releases.
    Cross,
}

impl Shape {
    fn of(workload: &Workload) -> Result<Self, Failure> {
        Ok(Self {
            kind: workload.read()?,
            threads: workload.number("threads", 1..=2)? as usize,
        })
    }

    /// Number of CPUs. A hand-over has two sides, even if one thread plays both.
    fn cpus(self) -> usize {
        match self.kind {
            Kind::Cross => 2,
            _ => self.threads,
        }
    }

    /// Operations in one turn of every CPU.
    fn operations_a_turn(self) -> u64 {
        match self.kind {
            Kind::Cross => TURN as u64,
            _ => (TURN * self.threads) as u64,
        }
    }
}

/// Runs one sample of a workload: an operation is a reservation and a release.
///
/// # Errors
/// The workload is not known, an address was granted twice, or an extent was not released.
pub fn run<A: SharedAllocator>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    let space = Extent::from_last(Iova::new(0), Iova::new(LAST)).expect("it begins at 0");
    let domain = A::new(space, PAGE, shape.cpus())?;
    let claims = Claims::new(LAST, PAGE);
    let mut random = Random::new(request.seed);
    let mut workers = workers(shape, &mut random, &domain, &claims);
    let turns = request
        .operations
        .div_ceil(shape.operations_a_turn())
        .max(1);
    let is_counting = request.exact || shape.threads == 1;
    let phase = |workers: &mut [_], turns, is_watched: bool| match (is_counting, is_watched) {
        (true, true) => in_turn(workers, CpuBinding::Own, turns, turn(&domain, &claims)),
        (true, false) => in_turn(workers, CpuBinding::Own, turns, turn(&domain, &Blind)),
        (false, true) => at_once(workers, CpuBinding::Own, turns, turn(&domain, &claims)),
        (false, false) => at_once(workers, CpuBinding::Own, turns, turn(&domain, &Blind)),
    };
    phase(&mut workers, WATCHED, true)?;
    claims.verdict()?;
    let before = domain.visits();
    let timed = phase(&mut workers, turns, false)?;
    let visits = domain.visits() - before;
    let live = give_back(&domain, workers)?;
    let left = domain.finish()?;
    if !left.is_empty() {
        return Err(Failure(format!("{} extents were not released", left.len())));
    }
    let operations = turns * shape.operations_a_turn();
    let per_op = |total: f64| total / operations as f64;
    let metric = if request.exact {
        ("depot_visits_per_op", per_op(visits as f64))
    } else {
        ("time_ns_per_op", per_op(timed.as_secs_f64() * 1e9))
    };
    let digest = digest(0, [operations, live as u64]);
    Ok(Outcome::new(operations, timed, digest, [metric]))
}

fn workers<A: SharedAllocator>(
    shape: Shape,
    random: &mut Random,
    domain: &A,
    claims: &Claims,
) -> Vec<Worker<A>> {
    if shape.kind == Kind::Cross {
        return Worker::pair(random).into();
    }
    let worker = |number| {
        become_cpu(number);
        match shape.kind {
            Kind::Queue => Worker::queue(random, domain, claims),
            _ => Worker::card(random, domain, claims),
        }
    };
    (0..shape.threads).map(worker).collect()
}

/// Returns the function that runs one turn of a worker.
fn turn<A: SharedAllocator>(
    domain: &A,
    watch: &impl Watch,
) -> impl Fn(&mut Worker<A>) -> Result<(), Failure> {
    move |worker| {
        let done = worker.turn(domain, watch);
        done.ok_or_else(|| Failure("a reservation failed".to_owned()))
    }
}

/// Checks that the CPUs' extents do not overlap, and releases them. Returns their number.
fn give_back<A: SharedAllocator>(domain: &A, workers: Vec<Worker<A>>) -> Result<usize, Failure> {
    let grants: Vec<A::Grant> = workers.into_iter().flat_map(Worker::grants).collect();
    let mut extents: Vec<_> = grants.iter().map(A::extent).collect();
    extents.sort_unstable_by_key(Extent::start);
    if extents.windows(2).any(|pair| pair[0].overlaps(&pair[1])) {
        return Err(Failure("an address was granted twice".to_owned()));
    }
    grants.into_iter().for_each(|grant| domain.release(grant));
    Ok(extents.len())
}
