//! A sample of a benchmark.

use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

use furlong_stats::random::Random;

use crate::hash::digest;
use crate::protocol::Outcome;
use crate::timed;

/// Timed stretches of a sample: so few that reading the clock costs nothing beside them, so many
/// that not all inputs are in memory at once.
const STRETCHES: u64 = 64;

/// Maximum number of inputs that are made in advance.
const INPUTS_MAX: u64 = 1 << 16;

/// Runs one sample of a benchmark.
#[derive(Debug)]
pub struct Bencher {
    operations: u64,
    seed: u64,
    /// Inputs of a timed stretch. It follows from the operations, so all arms of a group go through
    /// as much memory.
    stretch: u64,
    pub(crate) outcome: Option<Outcome>,
}

impl Bencher {
    pub(crate) fn new(operations: u64, seed: u64) -> Self {
        Self {
            operations,
            seed,
            stretch: (operations / STRETCHES).clamp(1, INPUTS_MAX),
            outcome: None,
        }
    }

    /// Makes as many inputs at once as there may be: whoever counts instructions counts each entry
    /// of the timed loop.
    pub(crate) fn at_once(self) -> Self {
        let stretch = INPUTS_MAX;
        Self { stretch, ..self }
    }

    /// Times an operation without input. Its result is kept from the optimizer and dropped.
    pub fn iter<A>(&mut self, mut work: impl FnMut() -> A) {
        black_box(work());
        let began = Instant::now();
        timed::repeat(self.operations, &mut work);
        self.outcome = Some(Outcome {
            operations: self.operations,
            elapsed_s: began.elapsed().as_secs_f64(),
            digest: 0,
        });
    }

    /// Times an operation on inputs that are made before and dropped after, both untimed.
    ///
    /// # Shapes
    /// `make` draws an input from the seed of the block, which is the same for all benchmarks of a
    /// group. The result of `work` is the answer: all benchmarks of a group must give the same, in
    /// the same order.
    pub fn iter_with<I, A: Hash>(
        &mut self,
        mut make: impl FnMut(&mut Random) -> I,
        mut work: impl FnMut(&mut I) -> A,
    ) {
        black_box(work(&mut make(&mut Random::new(!self.seed))));
        let mut random = Random::new(self.seed);
        let mut answers = Digest::default();
        let (mut elapsed, mut done) = (Duration::ZERO, 0);
        while done < self.operations {
            let count = self.stretch.min(self.operations - done);
            let mut inputs: Vec<I> = (0..count).map(|_| make(&mut random)).collect();
            let mut results = Vec::with_capacity(inputs.len());
            let began = Instant::now();
            timed::each(&mut inputs, &mut results, &mut work);
            elapsed += began.elapsed();
            done += count;
            results.iter().for_each(|answer| answer.hash(&mut answers));
        }
        self.outcome = Some(Outcome {
            operations: done,
            elapsed_s: elapsed.as_secs_f64(),
            digest: answers.finish(),
        });
    }
}

/// A hash of answers that is the same in every process.
#[derive(Default)]
struct Digest(u64);

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = digest(self.0, bytes.iter().copied().map(u64::from));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::sleep;
    use std::time::Duration;

    use super::Bencher;

    #[test]
    fn an_operation_runs_as_often_as_asked_on_inputs_of_the_seed() {
        let sample = |seed, operations| {
            let mut calls = 0;
            let mut bencher = Bencher::new(operations, seed);
            bencher.iter_with(
                |random| random.bits() % 7,
                |input| {
                    calls += 1;
                    *input
                },
            );
            let outcome = bencher.outcome.unwrap();
            assert_eq!((outcome.operations, calls), (operations, operations + 1));
            assert!(outcome.elapsed_s > 0.0);
            outcome.digest
        };
        assert_eq!(sample(1, 5000), sample(1, 5000));
        assert_ne!(sample(1, 5000), sample(2, 5000));
        assert_ne!(sample(1, 5000), sample(1, 4999));
    }

    #[test]
    fn slow_and_fast_work_have_as_many_inputs_in_memory() {
        let most_inputs = |operations, wait| {
            let alive = Arc::new(());
            let mut most = 0;
            let mut bencher = Bencher::new(operations, 1);
            bencher.iter_with(
                |_| Arc::clone(&alive),
                |input| {
                    most = most.max(Arc::strong_count(input) - 1);
                    sleep(wait);
                },
            );
            most
        };
        for (operations, expected) in [(3, 1), (640, 10), (700, 10)] {
            for wait in [Duration::ZERO, Duration::from_micros(200)] {
                assert_eq!(most_inputs(operations, wait), expected);
            }
        }
    }

    #[test]
    fn a_loop_without_input_runs_once_more_to_warm_up() {
        let mut calls = 0;
        let mut bencher = Bencher::new(10, 1);
        bencher.iter(|| calls += 1);
        assert_eq!(calls, 11);
        assert_eq!(bencher.outcome.unwrap().operations, 10);
    }
}
