//! Ordered structures under insertions and removals, as timed by `iova-propagation` and
//! `tree-order`.
//!
//! The workloads are those of the post about FreeBSD's tree: existing nodes are repeatedly moved
//! into and out of one structure. Orders are drawn between batches, never while the clock runs. At
//! the end the structure is checked against a list of its expected nodes.

mod structure;
mod workload;

use std::hint::black_box;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use furlong_spec::Random;

use furlong_lab::hash::digest;
use furlong_lab::model::{Failure, Outcome, Request};
pub use structure::{BlockTree, ByKey, Keyed, Map, Ordered, Tree, Work, node_of};
use workload::{Kind, Moves, Order, nodes};

/// Untimed batches at the start: the structure takes on the workload's typical shape, and caches
/// and predictors warm up.
const WARM_BATCHES: u32 = 2;

/// Runs one sample of a workload on a structure.
///
/// # Errors
/// The workload is not known, or the structure is broken or does not hold the expected nodes.
pub fn run<S: Ordered>(request: &Request) -> Result<Outcome, Failure> {
    let load = &request.workload;
    let mut driver = Driver::<S>::new(load.read()?, nodes(load)?, request.seed);
    for _ in 0..WARM_BATCHES {
        driver.batch();
    }
    let mut total = Batch::default();
    while total.operations < request.operations.max(1) {
        total += driver.batch();
    }
    let digest = driver.digest()?;
    let metrics = if request.exact {
        total.counts()
    } else {
        total.times()
    };
    let timed = Duration::from_nanos(total.timed_ns);
    Ok(Outcome::new(total.operations, timed, digest, metrics))
}

/// Runs one sample of a workload on a structure that removes by node or by key, as the workload
/// asks.
///
/// # Errors
/// As [`run`].
pub fn run_keyed<S: Keyed>(request: &Request) -> Result<Outcome, Failure> {
    let kind: Kind = request.workload.read()?;
    if kind.by_key {
        run::<ByKey<S>>(request)
    } else {
        run::<S>(request)
    }
}

/// Time and work of batches. Times are integers, because a sum of `Duration`s takes more
/// instructions where it passes a second, and instructions are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    operations: u64,
    timed_ns: u64,
    reset_ns: u64,
    work: Work,
}

impl AddAssign for Batch {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.timed_ns += other.timed_ns;
        self.reset_ns += other.reset_ns;
        self.work.augmentations += other.work.augmentations;
        self.work.rotations += other.work.rotations;
    }
}

impl Batch {
    fn times(&self) -> [(&'static str, f64); 2] {
        let per_op = |ns: u64| ns as f64 / self.operations as f64;
        let both = self.timed_ns + self.reset_ns;
        [
            ("time_ns_per_op", per_op(self.timed_ns)),
            ("time_with_reset_ns_per_op", per_op(both)),
        ]
    }

    fn counts(&self) -> [(&'static str, f64); 2] {
        let per_op = |count: u64| count as f64 / self.operations as f64;
        [
            ("augment_calls_per_op", per_op(self.work.augmentations)),
            ("rotations_per_op", per_op(self.work.rotations)),
        ]
    }
}

/// A structure and the state of its workload between batches.
struct Driver<S> {
    kind: Kind,
    random: Random,
    subject: S,
    /// For removals: the copy that refills the structure when it is empty.
    full: Option<S>,
    /// True for each node that should be linked.
    linked: Vec<bool>,
    /// Nodes of the next batch, in the order in which they are touched.
    order: Vec<u32>,
    /// For the sliding window: its position.
    slid: usize,
}

impl<S: Ordered> Driver<S> {
    fn new(kind: Kind, nodes: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut subject = S::new(nodes);
        let mut linked = vec![false; nodes];
        let mut order: Vec<u32> = (0..nodes).map(|node| node as u32).collect();
        if kind.order == Order::Random {
            random.shuffle(&mut order);
        }
        let filled = match kind.moves {
            Moves::Insert => 0,
            Moves::Toggle => nodes / 2,
            Moves::Remove => nodes,
        };
        for node in &order[..filled] {
            subject.insert(*node);
            linked[*node as usize] = true;
        }
        let full = (kind.moves == Moves::Remove).then(|| subject.copy());
        Self {
            kind,
            random,
            subject,
            full,
            linked,
            order,
            slid: 0,
        }
    }

    /// Runs one batch, with as many operations as nodes.
    fn batch(&mut self) -> Batch {
        let reset = Instant::now();
        match (self.kind.moves, &self.full) {
            (Moves::Insert, _) => self.subject.clear(),
            (Moves::Remove, Some(full)) => self.subject.copy_from(full),
            _ => {}
        }
        let reset_ns = reset.elapsed().as_nanos() as u64;
        self.draw();
        let before = self.subject.work();
        let order = black_box(self.order.as_slice());
        let start = Instant::now();
        match self.kind.moves {
            Moves::Insert => insert_all(&mut self.subject, order),
            Moves::Remove => remove_all(&mut self.subject, order),
            Moves::Toggle => toggle_all(&mut self.subject, order),
        }
        let timed_ns = start.elapsed().as_nanos() as u64;
        let work = self.subject.work().since(before);
        Batch {
            operations: self.order.len() as u64,
            timed_ns,
            reset_ns,
            work,
        }
    }

    /// Draws the order of the next batch, and updates the expected nodes.
    fn draw(&mut self) {
        match self.kind.moves {
            Moves::Toggle if self.kind.order == Order::Random => self.draw_toggles(),
            Moves::Toggle => self.slide(),
            Moves::Insert | Moves::Remove => {
                if self.kind.order == Order::Random {
                    self.random.shuffle(&mut self.order);
                }
                self.linked.fill(self.kind.moves == Moves::Insert);
            }
        }
    }

    /// Draws random nodes, each with a bit that tells insertion from removal.
    fn draw_toggles(&mut self) {
        let nodes = self.linked.len();
        for entry in &mut self.order {
            let node = self.random.index(nodes);
            self.linked[node] = !self.linked[node];
            *entry = workload::toggle(node as u32, self.linked[node]);
        }
    }

    /// Slides a window over half of the nodes upwards: one node in above, one out below.
    fn slide(&mut self) {
        let nodes = self.linked.len();
        for pair in self.order.chunks_exact_mut(2) {
            let (above, below) = ((self.slid + nodes / 2) % nodes, self.slid % nodes);
            (self.linked[above], self.linked[below]) = (true, false);
            pair[0] = workload::toggle(above as u32, true);
            pair[1] = workload::toggle(below as u32, false);
            self.slid += 1;
        }
    }

    /// Checks the structure against the expected nodes and returns a digest of them.
    fn digest(&self) -> Result<u64, Failure> {
        let expected = (0..self.linked.len()).filter(|node| self.linked[*node]);
        let expected = digest(0, expected.map(|node| node as u64));
        let found = digest(0, self.subject.nodes()?.into_iter().map(u64::from));
        if found != expected {
            return Err(Failure("the structure has lost or gained elements".into()));
        }
        Ok(expected)
    }
}

#[inline(never)]
fn insert_all<S: Ordered>(subject: &mut S, order: &[u32]) {
    for node in order {
        subject.insert(*node);
    }
}

#[inline(never)]
fn remove_all<S: Ordered>(subject: &mut S, order: &[u32]) {
    for node in order {
        subject.remove(*node);
    }
}

#[inline(never)]
fn toggle_all<S: Ordered>(subject: &mut S, order: &[u32]) {
    for entry in order {
        let (node, goes_in) = workload::split(*entry);
        if goes_in {
            subject.insert(node);
        } else {
            subject.remove(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use furlong::rbtree::{Checked, Custom, Tally};

    use super::{ByKey, Map, Ordered, Tree, run};
    use crate::iova_propagation;
    use furlong_lab::model::Request;

    fn request(workload: &str, nodes: u64, operations: u64, exact: bool) -> Request {
        let mut request = iova_propagation::experiment().request(workload, operations, exact);
        request.workload.params.insert("nodes".to_owned(), nodes);
        request
    }

    fn digest<S: Ordered>(workload: &str) -> u64 {
        run::<S>(&request(workload, 500, 5000, false))
            .expect("the arm is right")
            .digest
    }

    #[test]
    fn all_structures_end_with_the_same_nodes() {
        for workload in ["plain", "ins", "rem", "plain-seq", "ins-seq", "rem-seq"] {
            let map = digest::<Map>(workload);
            assert_eq!(digest::<Tree<Custom<Checked>>>(workload), map, "{workload}");
            assert_eq!(
                digest::<ByKey<Tree<Custom<Checked>>>>(workload),
                map,
                "{workload}"
            );
        }
    }

    #[test]
    fn exact_counts_do_not_depend_on_the_clock() {
        let count = || run::<Tree<Custom<Checked, Tally>>>(&request("plain", 512, 4096, true));
        let first = count().expect("the arm is right");
        assert!(first.metrics["augment_calls_per_op"] > 1.0);
        assert_eq!(first.metrics, count().expect("the arm is right").metrics);
    }

    #[test]
    fn an_unknown_workload_is_a_failure() {
        assert!(run::<Map>(&request("gas-1k", 8, 8, false)).is_err());
        for nodes in [0, 1, 3, 1 << 31] {
            assert!(run::<Map>(&request("plain", nodes, 8, false)).is_err());
        }
    }

    #[test]
    fn a_batch_is_never_cut() {
        let outcome = run::<Map>(&request("ins", 100, 150, false)).expect("the arm is right");
        assert_eq!(outcome.operations, 200);
    }
}
