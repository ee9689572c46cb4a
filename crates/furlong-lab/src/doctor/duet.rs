//! Duets on this machine: does a planted change come out as what it is if both sides run at once?
//!
//! Two processes at once share caches and memory, and whichever ends first leaves the rest of the
//! machine to the other. Both shrink a difference, more or less by machine and by program. So
//! programs with planted changes are compared in this way first.

use std::fs;

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::floor::executed;
use crate::error::Error;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::launcher::{Launcher, Task};
use crate::measure::launch::pair::two_cores;
use crate::record::place::{cache_dir, private_dir, write_private};
use furlong_stats::distribution::t_upper;

/// Planted changes, per cent, in turn. The largest tells most about a part that is lost.
const PLANTED_PCT: [u64; 4] = [2, 5, 10, 10];

/// Wanted length of a run, seconds.
const RUN_S: f64 = 0.06;

/// Blocks before the interval is looked at, and the most.
const BLOCKS: std::ops::RangeInclusive<usize> = 16..=160;

/// Level of the intervals.
const LEVEL: f64 = 0.99;

/// Part of a change that may be lost or added, and the widest half of an interval that tells it.
const BIAS: f64 = 0.1;
const UNCLEAR: f64 = 0.2;

/// Name of the file in the cache.
const FILE: &str = "duet.json";

/// File of the number that the kernel draws at its start.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The work of a program, which takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Computing.
    Compute,
    /// Waiting for cached memory.
    Cache,
}

const WORKS: [Work; 2] = [Work::Compute, Work::Cache];

impl Work {
    /// The name by which the launcher knows it.
    const fn name(self) -> &'static str {
        match self {
            Self::Compute => "spin",
            Self::Cache => "walk",
        }
    }
}

/// The part of planted changes that came out, in programs of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The work of the programs.
    pub work: Work,
    /// 1 if nothing was lost.
    pub part: f64,
    /// Half the width of its interval.
    pub half: f64,
}

impl Found {
    /// The part in differences of blocks, each with its planted change, both as logarithms: the
    /// slope of a line through the origin. `None` for fewer than two.
    fn of(work: Work, blocks: &[(f64, f64)]) -> Option<Self> {
        let sum = |of: fn(f64, f64) -> f64| blocks.iter().map(|(t, d)| of(*t, *d)).sum::<f64>();
        let squares = sum(|planted, _| planted * planted);
        let part = sum(|planted, found| planted * found) / squares;
        let residuals = blocks.iter().map(|(planted, found)| found - part * planted);
        let variance = residuals.map(|one| one * one).sum::<f64>();
        let free = blocks.len().checked_sub(1).filter(|free| *free > 0)? as f64;
        let error = (variance / free / squares).sqrt();
        let half = t_upper((1.0 - LEVEL) / 2.0, free) * error;
        Some(Self { work, part, half })
    }

    /// True if the interval is narrow enough to tell a bias.
    fn is_clear(&self) -> bool {
        self.half <= UNCLEAR
    }

    /// True if a bias is there for certain.
    fn is_biased(&self) -> bool {
        (self.part - 1.0).abs() - self.half > BIAS
    }
}

/// A check of duets on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetCheck {
    /// Start of the machine for which it holds.
    boot: String,
    /// The processors.
    pub processors: [usize; 2],
    /// The parts that came out, by the work of the programs.
    pub found: Vec<Found>,
}

impl DuetCheck {
    /// The check of this start of the machine, if there was one.
    pub fn known() -> Option<Self> {
        let text = fs::read_to_string(cache_dir()?.join(FILE)).ok()?;
        let check: Self = serde_json::from_str(&text).ok()?;
        let processors = two_cores().ok()?;
        let is_whole = check.found.len() == WORKS.len();
        let is_here = check.boot == boot() && check.processors == processors;
        (is_whole && is_here).then_some(check)
    }

    /// Checks this machine, and keeps the result in the cache; `None` if the user stopped it. It
    /// takes five seconds on a quiet machine, and half a minute on a noisy one.
    ///
    /// # Errors
    ///
    /// There are no two cores, or a process cannot be run.
    pub fn measure(interrupt: &Interrupt) -> Result<Option<Self>, Error> {
        let processors = two_cores().map_err(|why| Error::failed(format!("no duet: {why}")))?;
        let launcher = Launcher::new().map_err(|error| Error::failed(error.to_string()))?;
        let runner = Runner {
            launcher,
            processors,
        };
        let mut found: Vec<Found> = vec![];
        for work in WORKS {
            match runner.found(work, interrupt)? {
                Some(part) => found.push(part),
                None => return Ok(None),
            }
            // What is too noisy once is so for all.
            if !found.iter().all(Found::is_clear) {
                break;
            }
        }
        let check = Self {
            boot: boot(),
            processors,
            found,
        };
        // Noise may be gone the next time, so such a check is not kept.
        if check.found.iter().all(Found::is_clear) {
            check.keep();
        }
        Ok(Some(check))
    }

    /// Keeps it for the next comparison, which checks again if this fails.
    fn keep(&self) {
        let Some(dir) = cache_dir() else { return };
        if let Ok(text) = serde_json::to_string(self)
            && private_dir(&dir).is_ok()
        {
            let _ = write_private(&dir.join(FILE), &text);
        }
    }

    /// The reason if two commands at once would not be compared fairly.
    pub fn refusal(&self) -> Option<String> {
        let told = |one: &Found| {
            let kind = match one.work {
                Work::Compute => "compute",
                Work::Cache => "wait for caches",
            };
            let [part, half] = [100.0 * one.part, 100.0 * one.half];
            format!("{part:.0} ± {half:.0} % of planted changes came out in programs that {kind}")
        };
        let unclear = self.found.iter().find(|one| !one.is_clear());
        if let Some(one) = unclear {
            let why = "too noisy to tell whether a duet is fair here";
            return Some(format!("{why}: {}", told(one)));
        }
        self.found.iter().find(|one| one.is_biased()).map(told)
    }

    /// Returns the result as a finding.
    pub fn finding(&self) -> Finding {
        const SUBJECT: &str = "two commands at once";
        if let Some(why) = self.refusal() {
            let remedy = "compare without --duet; a duet needs cores that share little";
            return Finding::bad(SUBJECT, why, remedy);
        }
        let [one, other] = self.processors;
        let parts = self.found.iter().map(|one| {
            let [part, half] = [100.0 * one.part, 100.0 * one.half];
            format!("{part:.0} ± {half:.0} %")
        });
        let parts = parts.collect::<Vec<_>>().join(" and ");
        let of = format!("of planted changes came out on processors {one} and {other}");
        Finding::good(SUBJECT, format!("{parts} {of}"))
    }
}

/// The start of this machine; empty if the kernel does not tell.
fn boot() -> String {
    fs::read_to_string(BOOT)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Runs the work of samples.
struct Runner {
    launcher: Launcher,
    processors: [usize; 2],
}

impl Runner {
    fn task(&self, work: Work, amount: u64) -> Task {
        let amount = amount.to_string();
        Task::new(self.launcher.itself(), &[work.name(), &amount])
    }

    /// The amount of work that takes [`RUN_S`] beside another like it.
    fn calibrated(&self, work: Work) -> Result<u64, Error> {
        let mut amount = 1 << 18;
        // The first time is mostly the start of the process.
        for _ in 0..3 {
            let [one, _] =
                self.both([&self.task(work, amount), &self.task(work, amount)], false)?;
            let longer = (RUN_S / one.max(1e-6)).clamp(0.1, 100.0);
            amount = (amount as f64 * longer) as u64;
        }
        Ok(amount)
    }

    /// Seconds of two runs at once.
    fn both(&self, tasks: [&Task; 2], swapped: bool) -> Result<[f64; 2], Error> {
        let mut processors = self.processors;
        if swapped {
            processors.reverse();
        }
        let both = self.launcher.run_both(tasks, processors, None);
        let [one, other] = both.map_err(|error| Error::failed(error.to_string()))?;
        Ok([executed(&one)?, executed(&other)?])
    }

    /// Compares programs with planted changes, until the part that comes out is known.
    fn found(&self, work: Work, interrupt: &Interrupt) -> Result<Option<Found>, Error> {
        let amount = self.calibrated(work)?;
        let base = self.task(work, amount);
        let mut blocks = vec![];
        for pct in PLANTED_PCT.into_iter().cycle() {
            if interrupt.signal().is_some() {
                break;
            }
            let changed = self.task(work, amount + amount * pct / 100);
            let mut difference = 0.0;
            for swapped in [false, true] {
                let [a, b] = self.both([&base, &changed], swapped)?;
                difference += (b / a).ln() / 2.0;
            }
            blocks.push(((pct as f64 / 100.0).ln_1p(), difference));
            let found = Found::of(work, &blocks);
            let is_narrow = found.is_some_and(|found| found.half <= BIAS);
            if is_narrow && blocks.len() >= *BLOCKS.start() || blocks.len() >= *BLOCKS.end() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{DuetCheck, Found, Work};
    use crate::doctor::State;

    fn check(part: f64, half: f64) -> DuetCheck {
        let of = |(work, part, half)| Found { work, part, half };
        DuetCheck {
            boot: "b".to_owned(),
            processors: [0, 1],
            found: [(Work::Compute, 1.01, 0.05), (Work::Cache, part, half)]
                .map(of)
                .to_vec(),
        }
    }

    #[test]
    fn a_bias_is_refused_and_so_is_noise_that_could_hide_one() {
        let fair = check(0.95, 0.08);
        assert_eq!(fair.refusal(), None);
        let finding = fair.finding();
        assert_eq!(finding.state, State::Good);
        assert!(finding.text.starts_with("101 ± 5 % and 95 ± 8 % of"));
        let biased = check(0.8, 0.08);
        assert_eq!(
            biased.refusal().unwrap(),
            "80 ± 8 % of planted changes came out in programs that wait for caches"
        );
        assert_eq!(biased.finding().state, State::Bad);
        // An interval that holds nearly all of them is no proof of a bias.
        assert_eq!(check(0.8, 0.15).refusal(), None);
        let noisy = check(1.0, 0.3).refusal().unwrap();
        assert!(noisy.starts_with("too noisy"), "{noisy}");
    }

    #[test]
    fn the_part_is_a_slope_through_the_origin() {
        let blocks = [(0.02, 0.017), (0.05, 0.039), (0.1, 0.081), (0.1, 0.079)];
        let found = Found::of(Work::Compute, &blocks).unwrap();
        // (.00034 + .00195 + .0081 + .0079) / (.0004 + .0025 + .01 + .01)
        assert!((found.part - 0.7987).abs() < 1e-4, "{found:?}");
        // Residuals: .00103, -.00094, .00113, -.00087; t(.995, 3) is 5.841.
        assert!((found.half - 0.0445).abs() < 2e-3, "{found:?}");
        assert_eq!(Found::of(Work::Compute, &blocks[..1]), None);
    }
}
