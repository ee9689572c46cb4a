//! Duets on this machine: does a planted change come out as what it is if both sides run at once?
//!
//! Two processes at once share caches and memory, and whichever ends first leaves the rest of the
//! machine to the other. Both shrink a difference, more or less by machine and by program. So
//! programs with planted changes are compared in this way first.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::floor::{executed, spin};
use crate::error::Error;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::launcher::{Launcher, Task};
use crate::measure::launch::pair::two_cores;
use crate::record::build;
use crate::record::place::{cache_dir, private_dir, write_private};
use furlong_stats::paired::Paired;

/// Planted changes, per cent.
const PLANTED_PCT: [u64; 3] = [2, 5, 10];

/// Wanted length of a run, seconds.
const RUN_S: f64 = 0.06;

/// Blocks before an interval is looked at, and the most.
const BLOCKS: std::ops::RangeInclusive<usize> = 8..=40;

/// Half width of an interval, in logarithms, with which it is narrow enough.
const NARROW: f64 = 0.004;

/// Level of the intervals: of six, one lies beside the truth in one check of 170.
const LEVEL: f64 = 0.999;

/// Bias that is no fault: a part of the change, and a little besides for the start of a process.
const BIAS: f64 = 0.1;
const BIAS_MIN: f64 = 0.002;

/// Bytes that the work on memory walks through: more than a core has of its own, and less than the
/// cores of a server share.
const WALKED_BYTES: usize = 8 << 20;

/// Name of the file in the cache.
const FILE: &str = "duet.json";

/// File of the number that the kernel draws at its start.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// What a program's time goes into.
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
    /// The option of `furlong doctor` that does it, as a sample.
    const fn option(self) -> &'static str {
        match self {
            Self::Compute => "--spin",
            Self::Cache => "--walk",
        }
    }
}

/// A planted change, and what came out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// What the program does.
    pub work: Work,
    /// The change, per cent.
    pub pct: u64,
    /// The difference that came out, as a logarithm.
    found: f64,
    /// Half the width of its interval.
    half: f64,
}

impl Planted {
    /// The change, as a logarithm.
    fn truth(&self) -> f64 {
        (self.pct as f64 / 100.0).ln_1p()
    }

    /// True if the interval is narrow enough to tell a bias.
    fn is_clear(&self) -> bool {
        self.half <= 2.0 * NARROW
    }

    /// True if a bias is there for certain.
    fn is_biased(&self) -> bool {
        let allowed = BIAS * self.truth() + BIAS_MIN;
        (self.found - self.truth()).abs() - self.half > allowed
    }

    fn pct_of(log: f64) -> f64 {
        100.0 * log.exp_m1()
    }
}

/// A check of duets on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetCheck {
    /// Start of the machine for which it holds.
    boot: String,
    /// The processors.
    pub processors: [usize; 2],
    /// Planted changes.
    pub planted: Vec<Planted>,
}

/// Adds to cells of a table in an order that no prefetcher guesses; the work of a sample.
pub fn walk(steps: u64) {
    let mut table = vec![1_u64; WALKED_BYTES / size_of::<u64>()];
    let mask = table.len() - 1;
    let mut at = 1_usize;
    for step in 0..steps {
        // The next place depends on the cell.
        let cell = &mut table[at & mask];
        *cell = cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step;
        at = at.wrapping_mul(5).wrapping_add(1 + (*cell >> 32) as usize);
    }
    black_box(at);
}

/// Does the work of a sample.
pub fn work(work: Work, amount: u64) {
    match work {
        Work::Compute => spin(amount),
        Work::Cache => walk(amount),
    }
}

impl DuetCheck {
    /// The check of this start of the machine, if there was one.
    pub fn known() -> Option<Self> {
        let text = fs::read_to_string(cache_dir()?.join(FILE)).ok()?;
        let check: Self = serde_json::from_str(&text).ok()?;
        let processors = two_cores().ok()?;
        let is_whole = check.planted.len() == WORKS.len() * PLANTED_PCT.len();
        let is_here = check.boot == boot() && check.processors == processors;
        (is_whole && is_here).then_some(check)
    }

    /// Checks this machine, and keeps the result in the cache; `None` if the user stopped it. It
    /// takes about ten seconds on a quiet machine.
    ///
    /// # Errors
    ///
    /// There are no two cores, or a process cannot be run.
    pub fn measure(interrupt: &Interrupt) -> Result<Option<Self>, Error> {
        let processors = two_cores().map_err(|why| Error::failed(format!("no duet: {why}")))?;
        let launcher = Launcher::new().map_err(|error| Error::failed(error.to_string()))?;
        let runner = Runner {
            launcher,
            program: build::executable()?,
            processors,
        };
        let mut planted: Vec<Planted> = vec![];
        'all: for work in WORKS {
            let amount = runner.calibrated(work)?;
            for pct in PLANTED_PCT {
                // What is too noisy once is so for all.
                if planted.last().is_some_and(|last| !last.is_clear()) {
                    break 'all;
                }
                match runner.planted(work, amount, pct, interrupt)? {
                    Some(found) => planted.push(found),
                    None => return Ok(None),
                }
            }
        }
        let check = Self {
            boot: boot(),
            processors,
            planted,
        };
        // Noise may be gone the next time, so such a check is not kept.
        if check.planted.iter().all(Planted::is_clear) {
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
        let told = |one: &Planted| {
            let [found, half] = [Planted::pct_of(one.found), 100.0 * one.half];
            let kind = match one.work {
                Work::Compute => "a program that computes",
                Work::Cache => "a program that waits for caches",
            };
            format!(
                "{} % in {kind} came out as {found:.1} ± {half:.1} %",
                one.pct
            )
        };
        let unclear = self.planted.iter().find(|one| !one.is_clear());
        if let Some(one) = unclear {
            let why = "too noisy to tell whether a duet is fair here";
            return Some(format!("{why}: a planted {}", told(one)));
        }
        let biased = self.planted.iter().filter(|one| one.is_biased());
        let worst = biased.max_by(|a, b| a.pct.cmp(&b.pct))?;
        Some(format!("a planted {}", told(worst)))
    }

    /// Returns the result as a finding.
    pub fn finding(&self) -> Finding {
        const SUBJECT: &str = "two commands at once";
        if let Some(why) = self.refusal() {
            let remedy = "compare without --duet; a duet needs cores that share little";
            return Finding::bad(SUBJECT, why, remedy);
        }
        let [one, other] = self.processors;
        let off = self
            .planted
            .iter()
            .map(|one| (one.found - one.truth()).abs());
        let off = 100.0 * off.fold(0.0, f64::max);
        let planted = "planted changes of 2 to 10 % came out";
        let cores = format!("on processors {one} and {other}");
        Finding::good(SUBJECT, format!("{planted} within {off:.2} % {cores}"))
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
    program: PathBuf,
    processors: [usize; 2],
}

impl Runner {
    fn task(&self, work: Work, amount: u64) -> Task {
        let amount = format!("{}={amount}", work.option());
        Task::new(&self.program, &["doctor", &amount])
    }

    /// The amount of work that takes [`RUN_S`] beside another like it.
    fn calibrated(&self, work: Work) -> Result<u64, Error> {
        let mut amount = 1 << 20;
        // The first time is mostly the start of the process.
        for _ in 0..2 {
            let [one, _] =
                self.both([&self.task(work, amount), &self.task(work, amount)], false)?;
            let longer = (RUN_S / one.max(1e-6)).clamp(0.1, 1000.0);
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

    fn planted(
        &self,
        work: Work,
        amount: u64,
        pct: u64,
        interrupt: &Interrupt,
    ) -> Result<Option<Planted>, Error> {
        let tasks = [
            self.task(work, amount),
            self.task(work, amount + amount * pct / 100),
        ];
        let mut effects = vec![];
        let paired = loop {
            if interrupt.signal().is_some() {
                return Ok(None);
            }
            let mut effect = 0.0;
            for swapped in [false, true] {
                let [a, b] = self.both(tasks.each_ref(), swapped)?;
                effect += (b / a).ln() / 2.0;
            }
            effects.push(effect);
            let enough = |paired: &Paired| {
                effects.len() >= *BLOCKS.start() && paired.half_width(LEVEL) <= NARROW
                    || effects.len() >= *BLOCKS.end()
            };
            if let Some(paired) = Paired::of(&effects).filter(enough) {
                break paired;
            }
        };
        Ok(Some(Planted {
            work,
            pct,
            found: paired.mean,
            half: paired.half_width(LEVEL),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{DuetCheck, Planted, Work};
    use crate::doctor::State;

    fn check(found: f64, half: f64) -> DuetCheck {
        let planted = |(pct, found, half)| Planted {
            work: Work::Cache,
            pct,
            found,
            half,
        };
        DuetCheck {
            boot: "b".to_owned(),
            processors: [0, 1],
            planted: [(2, 0.02, 0.001), (10, found, half)].map(planted).to_vec(),
        }
    }

    #[test]
    fn a_bias_is_refused_and_so_is_noise_that_could_hide_one() {
        let fair = check(0.0945, 0.002);
        assert_eq!(fair.refusal(), None);
        assert_eq!(fair.finding().state, State::Good);
        let biased = check(0.08, 0.002);
        let why = biased.refusal().unwrap();
        assert_eq!(
            why,
            "a planted 10 % in a program that waits for caches came out as 8.3 ± 0.2 %"
        );
        assert_eq!(biased.finding().state, State::Bad);
        // An interval that holds the truth, or something near it, is no proof of a bias.
        assert_eq!(check(0.08, 0.007).refusal(), None);
        let noisy = check(0.0953, 0.02).refusal().unwrap();
        assert!(noisy.starts_with("too noisy"), "{noisy}");
    }
}
