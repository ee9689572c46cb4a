//! The noise floor of this machine: an A/A comparison of a process that does nothing but count.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::finding::Finding;
use crate::error::Error;
use crate::measure::block_order::BlockOrder;
use crate::measure::interrupt::Interrupt;
use crate::measure::launch::finished::{Ending, Finished};
use crate::measure::launch::launcher::{LaunchError, Launcher, Task};
use furlong_stats::blocks::Blocks;
use furlong_stats::control::floor;
use furlong_stats::paired::Paired;
use furlong_stats::verdict::{BLOCKS_MIN, Scale};

/// Wanted length of a sample.
const SAMPLE_S: f64 = 0.1;

/// Maximum number of blocks; more give little more information.
const BLOCKS_MAX: u32 = 40;

/// Default number of blocks of a comparison.
const BLOCKS_USUAL: usize = 10;

/// Default margin, per cent.
const MARGIN_PCT: f64 = 1.0;

/// Result of an A/A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// Number of blocks.
    pub blocks: usize,
    /// Mean of a sample, seconds.
    pub sample_s: f64,
    /// Noise floor with that many blocks, per cent.
    pub floor_pct: f64,
    /// Spread of the difference between two identical programs in a block, per cent.
    pub spread_pct: f64,
    /// Smallest difference that a comparison of ten blocks probably finds at a margin of 1 %.
    pub found_pct: f64,
}

/// Returns the seconds of a sample.
pub(super) fn executed(finished: &Finished) -> Result<f64, Error> {
    match finished.ending {
        Ending::Exited(0) => Ok(finished.usage.wall_s),
        ending => Err(Error::failed(format!("a sample failed: {ending}"))),
    }
}

impl Floor {
    /// Measures for at most this many seconds; `None` if the user stopped it before there was a
    /// result.
    ///
    /// # Errors
    ///
    /// The process cannot be run.
    pub fn measure(seconds: f64, interrupt: &Interrupt) -> Result<Option<Self>, Error> {
        let failed = |error: LaunchError| Error::failed(error.to_string());
        let launcher = Launcher::new().map_err(failed)?;
        let sample = |iterations: u64| {
            let task = Task::new(launcher.itself(), &["spin", &iterations.to_string()]);
            let finished = launcher.run(&task, None);
            executed(&finished.map_err(failed)?)
        };
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut iterations = 1 << 20;
        // The first time is mostly the start of the process.
        for _ in 0..2 {
            let short = (SAMPLE_S / sample(iterations)?.max(1e-6)).clamp(1.0, 1000.0);
            iterations = (iterations as f64 * short) as u64;
        }
        let mut values = [vec![], vec![], vec![]];
        for number in 1..=BLOCKS_MAX {
            if Instant::now() >= end && number > BLOCKS_MIN as u32 || interrupt.signal().is_some() {
                break;
            }
            let order = BlockOrder::new(1, "doctor", "floor", number, values.len()).order;
            for place in order {
                values[place].push(Some(sample(iterations)?));
            }
        }
        let [a, control, b] = values;
        Ok(Self::of(&Blocks::of(&a, Some(&control), &b)))
    }

    fn of(blocks: &Blocks) -> Option<Self> {
        let effects = blocks.effects();
        let found = floor(&blocks.control_effects(), blocks.scale())?;
        let spread = Paired::of(&effects)?.stddev;
        let usual = Paired {
            n: BLOCKS_USUAL,
            mean: 0.0,
            stddev: spread,
        };
        let margin = Scale::Log.distance(MARGIN_PCT);
        let sum: f64 = blocks.baseline.iter().sum();
        Some(Self {
            blocks: blocks.n(),
            sample_s: sum / blocks.n() as f64,
            floor_pct: found.pct,
            spread_pct: Scale::Log.pct(spread),
            found_pct: Scale::Log.pct(margin + usual.reach()),
        })
    }

    /// Returns the result as a finding.
    pub fn finding(&self) -> Finding {
        const SUBJECT: &str = "noise floor";
        let text = format!(
            "{:.2} % (A/A, {} blocks of {:.2} s samples); ten blocks can detect {:.1} % or more",
            self.floor_pct, self.blocks, self.sample_s, self.found_pct
        );
        if self.floor_pct > MARGIN_PCT {
            let remedy = "fix the bad findings above, measure longer samples, or use more blocks";
            Finding::bad(SUBJECT, text, remedy)
        } else {
            Finding::good(SUBJECT, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Floor;
    use crate::doctor::State;
    use furlong_stats::blocks::Blocks;

    fn blocks(noise: f64) -> Blocks {
        let around = |shift: usize| {
            let wave = |i: usize| ((i * 7 + shift * 3) % 10) as f64 - 4.5;
            (0..20)
                .map(|i| 0.1 * (1.0 + noise * wave(i)))
                .collect::<Vec<f64>>()
        };
        Blocks {
            places: (0..20).collect(),
            baseline: around(0),
            control: around(1),
            arm: around(2),
        }
    }

    #[test]
    fn a_quiet_machine_is_good_and_a_noisy_one_bad() {
        let quiet = Floor::of(&blocks(0.0005)).unwrap();
        assert!(quiet.floor_pct < 0.2 && quiet.found_pct < 1.5, "{quiet:?}");
        assert_eq!(quiet.finding().state, State::Good);
        let noisy = Floor::of(&blocks(0.02)).unwrap();
        assert!(noisy.floor_pct > 1.0 && noisy.found_pct > 5.0, "{noisy:?}");
        assert_eq!(noisy.finding().state, State::Bad);
        assert_eq!(Floor::of(&Blocks::default()), None);
    }
}
