//! The whole allocator under the load of a bus: the `gas` workloads of `iova-propagation`.
//!
//! Half of the live extents belong to a network card, whose rings complete in the order in which
//! they were filled. The other half belong to NVMe queues, whose requests complete in any order.
//! Each operation releases one extent and reserves another, as low as possible and with a free page
//! on both sides. FreeBSD's `iommu_gas` places extents the same way.

use std::any::Any;
use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{self, Config, Grant, Guard, Lowest, VecSpace};
use furlong::rbtree::Tally;
use furlong_spec::Random;

use crate::batches::in_batches;
use crate::traffic::Buffer;
use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request, Workload};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// The highest address of a device with 48 address lines.
const LAST: u64 = (1 << 48) - 1;

/// The common part of every request.
const REQUEST: iova::Request = iova::Request::new(PAGE).guard(Guard::ONE);

/// Operations between two clock readings: few enough that their drawn inputs stay in the
/// first-level cache.
const BATCH: u64 = 512;

/// True if a workload is one of these.
#[must_use]
pub fn is_one(load: &Workload) -> bool {
    load.kind == "gas"
}

/// Runs one sample on a space of any configuration.
///
/// # Errors
/// The workload is not known, or the space is broken or does not hold the expected extents.
pub fn run<C: Config<Counters: 'static>>(request: &Request) -> Result<Outcome, Failure> {
    let load = &request.workload;
    let live = load.number("live", 2..=1 << 24)?;
    if !is_one(load) || live % 2 != 0 {
        return Err(load.wrong("is of the kind `gas`, with an even number for `live`"));
    }
    let mut driver = Driver::<C>::new(live as usize / 2, request.seed)?;
    // One full batch, so that extents lie where others have been.
    driver.batches(live)?;
    let operations = request.operations.max(1);
    let before = driver.work();
    let timed = driver.batches(operations)?;
    let after = driver.work();
    let per_op = |total: f64| total / operations as f64;
    let time = per_op(timed.as_secs_f64() * 1e9);
    let counted = |at: usize| per_op((after[at] - before[at]) as f64);
    let metrics = if request.exact {
        [
            ("augment_calls_per_op", counted(0)),
            ("rotations_per_op", counted(1)),
        ]
    } else {
        [
            ("time_ns_per_op", time),
            // These workloads have no reset, so both times are equal.
            ("time_with_reset_ns_per_op", time),
        ]
    };
    Ok(Outcome::new(operations, timed, driver.finish()?, metrics))
}

/// One drawn operation: the extent to release, and the buffer to reserve in its place.
#[derive(Clone, Copy)]
struct Step {
    place: u32,
    buffer: Buffer,
}

struct Driver<C: Config> {
    random: Random,
    space: VecSpace<C>,
    /// The ring of the network card first, then the extents of the NVMe queues.
    grants: Vec<Option<Grant>>,
    /// Half the number of extents.
    half: usize,
    /// Position in the ring.
    turn: usize,
    steps: Vec<Step>,
    digest: u64,
}

impl<C: Config<Counters: 'static>> Driver<C> {
    fn new(half: usize, seed: u64) -> Result<Self, Failure> {
        let all = Extent::from_last(Iova::new(0), Iova::new(LAST));
        let all = all.expect("it begins at 0");
        let space = VecSpace::with_config(all, PAGE, Vec::new());
        let mut space = space.map_err(Failure::of)?;
        space.prepare(2 * half).map_err(|_| no_memory())?;
        let mut driver = Self {
            random: Random::new(seed),
            space,
            grants: Vec::with_capacity(2 * half),
            half,
            turn: 0,
            steps: Vec::new(),
            digest: 0,
        };
        // Alternately, as the devices would begin.
        let mut nvme = Vec::with_capacity(half);
        for _ in 0..half {
            let buffer = Buffer::of_network_card(&mut driver.random);
            driver.grants.push(reserve(&mut driver.space, buffer));
            let buffer = Buffer::of_nvme(&mut driver.random);
            nvme.push(reserve(&mut driver.space, buffer));
        }
        driver.grants.append(&mut nvme);
        Ok(driver)
    }

    /// Runs `operations` operations. Returns the time that they took.
    fn batches(&mut self, operations: u64) -> Result<Duration, Failure> {
        in_batches(operations, BATCH, |operations| self.batch(operations))
    }

    fn batch(&mut self, operations: usize) -> Result<Duration, Failure> {
        self.steps.clear();
        for at in 0..operations {
            let step = self.draw(at % 2 == 0);
            self.steps.push(step);
        }
        let steps = black_box(self.steps.as_slice());
        let begin = Instant::now();
        replace(&mut self.space, &mut self.grants, steps);
        let timed = begin.elapsed();
        let grants = &self.grants;
        let granted = self.steps.iter().map(|step| &grants[step.place as usize]);
        let starts = granted.map(|grant| grant.as_ref().map(|grant| grant.iova().raw()));
        let starts: Option<Vec<u64>> = starts.collect();
        let starts = starts.ok_or_else(|| Failure("a reservation failed".to_owned()))?;
        self.digest = digest(self.digest, starts);
        Ok(timed)
    }

    fn draw(&mut self, of_network_card: bool) -> Step {
        if of_network_card {
            self.turn = (self.turn + 1) % self.half;
            return Step {
                place: self.turn as u32,
                buffer: Buffer::of_network_card(&mut self.random),
            };
        }
        Step {
            place: (self.half + self.random.index(self.half)) as u32,
            buffer: Buffer::of_nvme(&mut self.random),
        }
    }

    /// Recomputed nodes and rotations so far; zeros if they are not counted.
    fn work(&self) -> [u64; 2] {
        let tally = (self.space.counters() as &dyn Any).downcast_ref::<Tally>();
        tally.map_or([0; 2], |tally| [tally.augmentations(), tally.rotations()])
    }

    /// Compares the space with the expected extents, then returns a digest of all answers.
    fn finish(self) -> Result<u64, Failure> {
        self.space.check().map_err(Failure::of)?;
        let mut live: Vec<_> = self.grants.iter().flatten().map(Grant::extent).collect();
        live.sort_unstable_by_key(Extent::start);
        let is_guarded =
            |pair: &[Extent<Iova>]| pair[1].start().raw() - pair[0].last().raw() > PAGE;
        if !live.windows(2).all(is_guarded) {
            return Err(Failure("two extents are closer than a page".to_owned()));
        }
        if !self
            .space
            .reserved()
            .map(|owned| owned.extent)
            .eq(live.iter().copied())
        {
            let text = "the reserved extents differ from the granted ones";
            return Err(Failure(text.to_owned()));
        }
        let ends = live.iter().flat_map(|e| [e.start(), e.last()]);
        Ok(digest(self.digest, ends.map(Address::raw)))
    }
}

fn no_memory() -> Failure {
    Failure("there is no memory for the nodes".to_owned())
}

#[inline(always)]
fn reserve<C: Config>(space: &mut VecSpace<C>, buffer: Buffer) -> Option<Grant> {
    let request = REQUEST
        .size(u64::from(buffer.size))
        .offset(u64::from(buffer.offset));
    space.reserve(&request, Lowest).ok()
}

#[inline(never)]
fn replace<C: Config>(space: &mut VecSpace<C>, grants: &mut [Option<Grant>], steps: &[Step]) {
    for step in steps {
        let place = &mut grants[step.place as usize];
        if let Some(grant) = place.take() {
            space.release(grant).expect("the grant is of this space");
        }
        *place = reserve(space, step.buffer);
    }
}

#[cfg(test)]
mod tests {
    use furlong::iova::{Custom, Largest};
    use furlong::rbtree::{Checked, Deferred, Eager, Off, Tally};

    use super::run;
    use crate::iova_propagation;
    use furlong_lab::model::{Outcome, Request};

    fn request(name: &str, live: u64, exact: bool) -> Request {
        let mut request = iova_propagation::experiment().request(name, 3000, exact);
        request.workload.params.insert("live".to_owned(), live);
        request
    }

    #[test]
    fn the_arms_give_the_same_answers_and_count_different_work() {
        let request = request("gas-1k", 300, true);
        let eager = run::<Custom<Largest, Eager, Tally>>(&request).unwrap();
        let deferred = run::<Custom<Largest, Deferred, Tally>>(&request).unwrap();
        let checked = run::<Custom<Largest, Checked, Tally>>(&request).unwrap();
        assert_eq!(eager.digest, deferred.digest);
        assert_eq!(eager.digest, checked.digest);
        let count = |outcome: &Outcome, metric| outcome.metrics[metric];
        assert!(count(&checked, "augment_calls_per_op") < count(&eager, "augment_calls_per_op"));
        assert_eq!(
            count(&checked, "rotations_per_op"),
            count(&eager, "rotations_per_op")
        );
        assert!(count(&checked, "rotations_per_op") > 0.0);
        let again = run::<Custom<Largest, Checked, Tally>>(&request).unwrap();
        assert_eq!(again.metrics, checked.metrics);
    }

    #[test]
    fn a_number_of_extents_that_cannot_be_halved_is_refused() {
        for live in [0, 1, 3, 1 << 25] {
            assert!(run::<Custom<Largest, Eager, Off>>(&request("gas-1k", live, false)).is_err());
        }
        assert!(run::<Custom<Largest, Eager, Off>>(&request("plain", 4, false)).is_err());
    }
}
