//! When a workload has had enough blocks, and what looking before the end costs its intervals.
//!
//! The rule is decided before the first block and stored with the workload, so that a stored run is
//! judged again as it was judged.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::paired::Paired;
use super::sequential::{self, Sequential};
use super::stein;
use super::verdict::{ALPHA, BLOCKS_MIN};
use crate::value::WorkloadResult;

/// The parameter of a workload that holds its rule.
pub const STOPPING: &str = "stopping";

/// The parameter of a workload that says why it has fewer blocks than were allowed.
pub const STOPPED: &str = "stopped";

/// Looks at a workload that may end early, at most.
const LOOKS: u32 = 5;

/// By planned blocks, blocks and whether they are the last.
type Known = BTreeMap<(u32, u32, bool), f64>;

thread_local! {
    /// Errors that were computed once: they are integrals, and every look at every workload asks
    /// for one.
    static KNOWN: RefCell<Known> = const { RefCell::new(Known::new()) };
}

/// When a workload has had enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "lowercase")]
pub enum Stopping {
    /// After the planned blocks.
    #[default]
    Planned,
    /// As soon as the verdict is certain, at one of a few looks.
    Early {
        /// Blocks at most.
        planned: u32,
    },
    /// When the interval is as narrow as wanted: a pilot says how many blocks that takes.
    Width {
        /// Wanted half width of the 95 % interval, per cent.
        half_width_pct: f64,
    },
}

/// Why a workload has fewer blocks than were allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The verdict was certain.
    Verdict,
    /// The interval is as narrow as wanted.
    Width,
    /// The time was up.
    Time,
}

impl Stopped {
    /// As a reader of the record sees it behind the word "stopped".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verdict => "as soon as the verdict was certain",
            Self::Width => "at the wanted width",
            Self::Time => "by the time limit",
        }
    }

    /// Of a workload.
    #[must_use]
    pub fn of(workload: &WorkloadResult) -> Option<Self> {
        let said = workload.params.get(STOPPED)?.as_str()?;
        [Self::Verdict, Self::Width, Self::Time]
            .into_iter()
            .find(|stopped| stopped.name() == said)
    }
}

impl Stopping {
    /// Of a workload.
    #[must_use]
    pub fn of(workload: &WorkloadResult) -> Self {
        let stored = workload.params.get(STOPPING).cloned();
        stored
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default()
    }

    /// Whether the figures are looked at after so many blocks.
    #[must_use]
    pub fn looks_at(self, blocks: u32) -> bool {
        match self {
            Self::Early { planned } => looks(planned).contains(&blocks),
            Self::Planned | Self::Width { .. } => false,
        }
    }

    /// Two-sided error that the intervals of a workload may have, for all its looks together to
    /// have no more than [`ALPHA`].
    #[must_use]
    pub fn alpha(workload: &WorkloadResult) -> f64 {
        let blocks = workload.blocks.len() as u32;
        let Self::Early { planned } = Self::of(workload) else {
            return ALPHA;
        };
        if blocks == 0 || blocks > planned {
            return ALPHA;
        }
        let is_last = blocks == planned
            || !looks(planned).contains(&blocks)
            || Stopped::of(workload) == Some(Stopped::Time);
        let key = (planned, blocks, is_last);
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).copied()) {
            return known;
        }
        let mut plan = Sequential::new(ALPHA);
        let share = |blocks: u32| f64::from(blocks) / f64::from(planned);
        for look in looks(planned).into_iter().filter(|look| *look < blocks) {
            plan.look(share(look), false);
        }
        let bound = plan.look(share(blocks), is_last);
        let alpha = bound.map_or(ALPHA, |bound| 1.0 - sequential::level(bound));
        KNOWN.with_borrow_mut(|known| known.insert(key, alpha));
        alpha
    }

    /// Blocks that a wanted width takes, from the pilot's; `None` while the pilot goes on or where
    /// no width is wanted.
    #[must_use]
    pub fn blocks_wanted(self, effects: &[f64], blocks: &Blocks) -> Option<u32> {
        let Self::Width { half_width_pct } = self else {
            return None;
        };
        let pilot = Paired::of(effects.get(..stein::PILOT_BLOCKS)?)?;
        let half_width = blocks.scale().distance(half_width_pct);
        Some(stein::blocks(&pilot, half_width, 1.0 - ALPHA))
    }

    /// The effect as the rule has to see it: where the pilot fixed the number of blocks, with the
    /// pilot's spread and degrees of freedom.
    #[must_use]
    pub fn effect(self, effects: &[f64]) -> Option<Paired> {
        let all = Paired::of(effects)?;
        let pilot = match self {
            Self::Width { .. } => effects.get(..stein::PILOT_BLOCKS).and_then(Paired::of),
            Self::Planned | Self::Early { .. } => None,
        };
        Some(match pilot {
            // The standard error is the pilot's spread over the root of all blocks.
            Some(pilot) => Paired {
                n: pilot.n,
                mean: all.mean,
                stddev: pilot.stddev * (pilot.n as f64 / all.n as f64).sqrt(),
            },
            None => all,
        })
    }
}

/// After how many blocks a workload is looked at: fifths of the plan that can have a verdict.
fn looks(planned: u32) -> Vec<u32> {
    let fifths = (1..=LOOKS).map(|look| (u64::from(planned) * u64::from(look)).div_ceil(5) as u32);
    let mut looks: Vec<u32> = fifths.collect();
    looks.retain(|blocks| *blocks >= BLOCKS_MIN as u32 || *blocks == planned);
    looks.dedup();
    looks
}

#[cfg(test)]
mod tests {
    use super::{STOPPED, STOPPING, Stopped, Stopping, looks};
    use crate::blocks::Blocks;
    use crate::paired::Paired;
    use crate::stein;
    use crate::value::WorkloadResult;

    fn workload(blocks: u32, stopped: Option<Stopped>) -> WorkloadResult {
        let rule = serde_json::to_value(Stopping::Early { planned: 50 }).unwrap();
        let mut params: std::collections::BTreeMap<_, _> = [(STOPPING.to_owned(), rule)].into();
        if let Some(stopped) = stopped {
            params.insert(STOPPED.to_owned(), stopped.name().into());
        }
        WorkloadResult {
            name: "w".to_owned(),
            params,
            blocks: (1..=blocks).collect(),
            order: vec![],
            arms: vec![],
            control: [].into(),
            comparisons: vec![],
            warnings: vec![],
        }
    }

    #[test]
    fn only_a_run_that_may_end_early_is_looked_at_before_its_end() {
        let early = Stopping::Early { planned: 50 };
        assert!(early.looks_at(10) && early.looks_at(50) && !early.looks_at(11));
        assert!(!Stopping::Planned.looks_at(10));
    }

    #[test]
    fn looks_are_fifths_that_can_have_a_verdict() {
        assert_eq!(looks(50), [10, 20, 30, 40, 50]);
        assert_eq!(looks(10), [6, 8, 10]);
        assert_eq!(looks(7), [6, 7]);
        assert_eq!(looks(3), [3]);
        assert_eq!(looks(u32::MAX).last(), Some(&u32::MAX));
    }

    #[test]
    fn the_first_looks_may_err_least_and_the_last_nearly_as_one_that_is_alone() {
        // Bounds of five looks: 4.8769, 3.3570, 2.6803, 2.2898, 2.0310.
        let alphas = [10, 20, 30, 40, 50].map(|n| Stopping::alpha(&workload(n, None)));
        for (found, wanted) in alphas
            .iter()
            .zip([1.078e-6, 7.879e-4, 0.007355, 0.02203, 0.04226])
        {
            assert!(
                (found / wanted - 1.0).abs() < 2e-3,
                "{found} is not {wanted}"
            );
        }
        assert_eq!(
            Stopping::alpha(&WorkloadResult {
                params: [].into(),
                ..workload(9, None)
            }),
            0.05
        );
    }

    #[test]
    fn a_time_limit_spends_what_is_left() {
        let early = Stopping::alpha(&workload(30, Some(Stopped::Verdict)));
        let late = Stopping::alpha(&workload(30, Some(Stopped::Time)));
        assert!(
            early < 0.008 && late > 0.045 && late < 0.05,
            "{early} {late}"
        );
        let between = Stopping::alpha(&workload(33, Some(Stopped::Time)));
        assert!(between > 0.03 && between < 0.05, "{between}");
    }

    #[test]
    fn a_wanted_width_keeps_the_spread_of_its_pilot() {
        let effects: Vec<f64> = (0..40).map(|i| f64::from(i % 5) * 0.01).collect();
        let rule = Stopping::Width {
            half_width_pct: 0.4,
        };
        let pilot = Paired::of(&effects[..10]).unwrap();
        let found = rule.effect(&effects).unwrap();
        let mean = Paired::of(&effects).unwrap().mean;
        let wanted = stein::interval(&pilot, mean, 40, 0.95);
        for (found, wanted) in found.interval(0.95).iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-15);
        }
        let values = vec![1.0; 10];
        let blocks = Blocks {
            places: (0..10).collect(),
            baseline: values.clone(),
            control: values.clone(),
            arm: values,
        };
        let blocks_wanted = rule.blocks_wanted(&effects, &blocks).unwrap();
        assert_eq!(blocks_wanted, stein::blocks(&pilot, 1.004_f64.ln(), 0.95));
        assert!(blocks_wanted > 50);
        assert_eq!(rule.blocks_wanted(&effects[..9], &blocks), None);
        assert_eq!(Stopping::Planned.effect(&effects), Paired::of(&effects));
    }
}
