//! Arms under test. Each runs random streams beside the model, as long as a test or a long run
//! likes.
#![forbid(unsafe_code)]

use core::ops::Range;
use std::io::{self, Write as _};

use crate::Coverage;

/// Streams from seeds on an arm, and the outcomes that occurred.
pub(crate) type Run = fn(Range<u64>) -> Result<Coverage, String>;

/// The required outcomes that did not occur a number of times, and those that must not occur.
pub(crate) type Gaps = fn(&Coverage, u64) -> Vec<String>;

/// An arm under test.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Name of the arm.
    pub name: &'static str,
    run: Run,
    gaps: Gaps,
}

impl Trial {
    /// An arm, the streams to run on it, and what its counts lack after enough streams.
    #[must_use]
    pub const fn new(name: &'static str, run: Run, gaps: Gaps) -> Self {
        Self { name, run, gaps }
    }

    /// Compares the arm with the model over streams from `seeds`.
    ///
    /// # Errors
    /// The first divergence, with all that is needed to repeat it.
    pub fn run(&self, seeds: Range<u64>) -> Result<Coverage, String> {
        (self.run)(seeds).map_err(|error| format!("{}: {error}", self.name))
    }

    /// The required outcomes that did not occur `least` times, and those that must not occur.
    #[must_use]
    pub fn gaps(&self, coverage: &Coverage, least: u64) -> Vec<String> {
        (self.gaps)(coverage, least)
    }
}

/// The number of operations on an arm after which every required outcome must have occurred.
const MANY: u64 = 500_000;

/// Runs `operations` operations in total, the same number on every arm, in streams from the seed
/// `first` on, `seeds` of them at a time. Prints what agreed and the count of each outcome.
///
/// # Errors
/// The first divergence, or the required outcomes that never occurred.
pub fn try_out(
    trials: &[Trial],
    operations: u64,
    first: u64,
    seeds: u64,
) -> Result<Coverage, String> {
    let mut out = io::stdout();
    let share = operations.div_ceil(trials.len() as u64);
    let mut all = Coverage::default();
    for trial in trials {
        let mut seed = first;
        let mut done = Coverage::default();
        while done.operations() < share {
            done += trial.run(seed..seed + seeds)?;
            seed += seeds;
        }
        let (name, last) = (trial.name, seed - 1);
        let _ = writeln!(out, "{name}: {}, seeds {first} to {last}", done.summary());
        let gaps = trial.gaps(&done, 1);
        if done.operations() >= MANY && !gaps.is_empty() {
            return Err(format!("{name}: {}", gaps.join(", ")));
        }
        all += done;
    }
    let _ = writeln!(out, "all arms: {}\n{all}", all.summary());
    Ok(all)
}
