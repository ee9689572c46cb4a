//! Rules for the number of a workload's blocks, and the cost of interim looks for its intervals.
//!
//! The rule is fixed before the first block and stored with the workload. A stored run that is
//! judged again therefore gets the same verdicts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blocks::Blocks;
use crate::paired::Paired;
use crate::sequential::{self, Sequential};
use crate::stein;
use crate::value::WorkloadResult;
use crate::verdict::{ALPHA, BLOCKS_MIN};

/// The parameter of a workload with its rule.
pub const STOPPING: &str = "stopping";

/// The parameter of a workload with the reason why it has fewer blocks than were allowed.
pub const STOPPED: &str = "stopped";

/// The parameter of a workload with the number of workloads that are one family: all of them
/// together err with the probability that one alone has.
pub const FAMILY: &str = "family";

/// Looks at a workload that may end early, if the rule gives no number.
pub const LOOKS: u32 = 5;

/// Looks at a comparison that is asked for an answer: the first after a tenth of its time.
pub const ANSWER_LOOKS: u32 = 10;

/// Nominal share of identical programs that a run with interim looks calls different, however wide
/// their noise is. The bounds are exact for normal deviates. With few blocks they err up to a tenth
/// more often (simulated), and the noise of a busy machine is not normal. So this is less than half
/// of the 1 % that is promised.
pub const CHANCE: f64 = 0.004;

/// Errors by the bits of their total and of the shares of all looks so far, and true for the last
/// look.
type Known = BTreeMap<(u64, Vec<u64>, bool), f64>;

thread_local! {
    /// A cache of computed errors: they are integrals, and every look at every workload needs one.
    static KNOWN: RefCell<Known> = const { RefCell::new(Known::new()) };
}

/// The rule that ends a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "lowercase")]
pub enum Stopping {
    /// After the planned blocks.
    #[default]
    Planned,
    /// As soon as the verdict is certain, at one of a few looks.
    Early {
        /// Most blocks.
        planned: u32,
        /// Most looks, evenly spaced.
        #[serde(default = "usual_looks", skip_serializing_if = "is_usual")]
        looks: u32,
    },
    /// The same with as many blocks as fit into a time. The second block shows how long a block
    /// takes; from then on the rule is `Early`.
    Answer {
        /// The time.
        limit_s: f64,
    },
    /// At a given width of the interval: a pilot determines the number of blocks.
    Width {
        /// Half width of the 95 % interval to reach, in per cent.
        half_width_pct: f64,
    },
}

fn usual_looks() -> u32 {
    LOOKS
}

// Serde passes a reference.
fn is_usual(looks: &u32) -> bool {
    *looks == LOOKS
}

/// The reason why a workload has fewer blocks than were allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The verdict was certain.
    Verdict,
    /// The interval reached its width.
    Width,
    /// The time limit was reached.
    Time,
    /// A command without a comparison ran often and long enough.
    Runs,
}

impl Stopped {
    /// The text after the word "stopped" in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verdict => "as soon as the verdict was certain",
            Self::Width => "at the wanted width",
            Self::Time => "by the time limit",
            Self::Runs => "after enough runs",
        }
    }

    /// The stored reason of a workload.
    pub fn of(workload: &WorkloadResult) -> Option<Self> {
        let said = workload.params.get(STOPPED)?.as_str()?;
        [Self::Verdict, Self::Width, Self::Time, Self::Runs]
            .into_iter()
            .find(|stopped| stopped.name() == said)
    }
}

impl Stopping {
    /// The stored rule of a workload.
    pub fn of(workload: &WorkloadResult) -> Self {
        let stored = workload.params.get(STOPPING).cloned();
        stored
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default()
    }

    /// The stored number of the workload's family, 1 if it is alone.
    pub fn family(workload: &WorkloadResult) -> usize {
        let stored = workload.params.get(FAMILY).and_then(Value::as_u64);
        stored.map_or(1, |family| usize::try_from(family).unwrap_or(usize::MAX))
    }

    /// True if the verdict is checked after this many blocks.
    pub fn looks_at(self, blocks: u32) -> bool {
        match self {
            Self::Early { planned, looks } => looks_at(planned, looks).contains(&blocks),
            Self::Planned | Self::Width { .. } | Self::Answer { .. } => false,
        }
    }

    /// Two-sided error for the intervals of a workload: with it, all looks together have at most
    /// [`ALPHA`], divided by `open`. That is 1, or the number of the workload's family that is not
    /// decided yet.
    pub fn alpha(workload: &WorkloadResult, open: usize) -> f64 {
        let alpha = ALPHA / open.max(1) as f64;
        Self::error(workload, Sequential::new(alpha)).unwrap_or(alpha)
    }

    /// Two-sided error of the interval that must also exclude no difference before a workload with
    /// interim looks gets a verdict of one: with it, all looks together have at most [`CHANCE`].
    /// `None` without such looks.
    pub fn chance(workload: &WorkloadResult) -> Option<f64> {
        Self::error(workload, Sequential::squared(CHANCE))
    }

    /// Two-sided error of this look under a plan, or `None` without interim looks.
    fn error(workload: &WorkloadResult, mut plan: Sequential) -> Option<f64> {
        let blocks = workload.blocks.len() as u32;
        let (planned, looks) = match Self::of(workload) {
            Self::Early { planned, looks } => (planned, looks),
            // The looks are not planned yet, and each may need all of the error.
            Self::Answer { .. } => return Some(0.0),
            Self::Planned | Self::Width { .. } => return None,
        };
        // Blocks may follow in a run that is still going on or was interrupted: the rest is theirs.
        let is_last = blocks == planned || Stopped::of(workload) == Some(Stopped::Time);
        let total = plan.alpha();
        let before = looks_at(planned, looks);
        let before = before.into_iter().filter(|look| *look < blocks);
        let share = |blocks: u32| f64::from(blocks) / f64::from(planned);
        let shares: Vec<f64> = before.chain([blocks]).map(share).collect();
        let bits = shares.iter().map(|share| share.to_bits()).collect();
        let key = (total.to_bits(), bits, is_last);
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).copied()) {
            return Some(known);
        }
        let (last, earlier) = shares.split_last()?;
        for share in earlier {
            plan.look(*share, false);
        }
        let bound = plan.look(*last, is_last);
        let error = bound.map_or(total, |bound| 1.0 - sequential::level(bound));
        KNOWN.with_borrow_mut(|known| known.insert(key, error));
        Some(error)
    }

    /// Total blocks for the given width, from the pilot's effects; `None` during the pilot or under
    /// another rule.
    pub fn blocks_wanted(self, effects: &[f64], blocks: &Blocks) -> Option<u32> {
        let Self::Width { half_width_pct } = self else {
            return None;
        };
        let pilot = Paired::of(effects.get(..stein::PILOT_BLOCKS)?)?;
        let half_width = blocks.scale().distance(half_width_pct);
        Some(stein::blocks(&pilot, half_width, 1.0 - ALPHA))
    }

    /// The effect for the rule. If a pilot fixed the number of blocks, it has the pilot's spread
    /// and degrees of freedom.
    pub fn effect(self, effects: &[f64]) -> Option<Paired> {
        let all = Paired::of(effects)?;
        let pilot = match self {
            Self::Width { .. } => effects.get(..stein::PILOT_BLOCKS).and_then(Paired::of),
            Self::Planned | Self::Early { .. } | Self::Answer { .. } => None,
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

/// The numbers of blocks at the looks: even parts of the plan, without those too small for a
/// verdict.
fn looks_at(planned: u32, looks: u32) -> Vec<u32> {
    let (planned_blocks, parts) = (u64::from(planned), u64::from(looks));
    let part = |look: u32| (planned_blocks * u64::from(look)).div_ceil(parts) as u32;
    let mut looks: Vec<u32> = (1..=looks).map(part).collect();
    looks.retain(|blocks| *blocks >= BLOCKS_MIN as u32 || *blocks == planned);
    looks.dedup();
    looks
}

#[cfg(test)]
mod tests {
    use super::{STOPPED, STOPPING, Stopped, Stopping, looks_at};
    use crate::blocks::Blocks;
    use crate::paired::Paired;
    use crate::stein;
    use crate::value::WorkloadResult;

    fn workload(blocks: u32, stopped: Option<Stopped>) -> WorkloadResult {
        let rule = serde_json::to_value(Stopping::Early {
            planned: 50,
            looks: 5,
        })
        .unwrap();
        let mut params: std::collections::BTreeMap<_, _> = [(STOPPING.to_owned(), rule)].into();
        if let Some(stopped) = stopped {
            params.insert(STOPPED.to_owned(), stopped.name().into());
        }
        WorkloadResult {
            name: "w".to_owned(),
            params,
            blocks: (1..=blocks).collect(),
            ..WorkloadResult::default()
        }
    }

    #[test]
    fn only_a_run_that_may_end_early_is_looked_at_before_its_end() {
        let early = Stopping::Early {
            planned: 50,
            looks: 5,
        };
        assert!(early.looks_at(10) && early.looks_at(50) && !early.looks_at(11));
        assert!(!Stopping::Planned.looks_at(10));
    }

    #[test]
    fn looks_are_fifths_that_can_have_a_verdict() {
        assert_eq!(looks_at(50, 5), [10, 20, 30, 40, 50]);
        assert_eq!(looks_at(10, 5), [6, 8, 10]);
        assert_eq!(looks_at(7, 5), [6, 7]);
        assert_eq!(looks_at(3, 5), [3]);
        assert_eq!(looks_at(40, 10), [8, 12, 16, 20, 24, 28, 32, 36, 40]);
        assert_eq!(looks_at(u32::MAX, 5).last(), Some(&u32::MAX));
    }

    #[test]
    fn the_first_looks_may_err_least_and_the_last_nearly_as_one_that_is_alone() {
        // Bounds of five looks: 4.8769, 3.3570, 2.6803, 2.2898, 2.0310.
        let alphas = [10, 20, 30, 40, 50].map(|n| Stopping::alpha(&workload(n, None), 1));
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
            Stopping::alpha(
                &WorkloadResult {
                    params: [].into(),
                    ..workload(9, None)
                },
                1
            ),
            0.05
        );
    }

    #[test]
    fn more_looks_may_err_no_more_in_all() {
        let mut sum = 0.0;
        let rule = |looks| serde_json::to_value(Stopping::Early { planned: 50, looks }).unwrap();
        assert_eq!(rule(5), serde_json::json!({"rule": "early", "planned": 50}));
        for blocks in (10..=50).step_by(5) {
            let mut many = workload(blocks, None);
            many.params.insert(STOPPING.to_owned(), rule(10));
            let alpha = Stopping::alpha(&many, 1);
            let few = Stopping::alpha(&workload(blocks, None), 1);
            assert!(alpha < few || blocks <= 15, "{blocks}: {alpha} {few}");
            sum += alpha;
        }
        assert!(sum > 0.05 && sum < 0.2, "{sum}");
    }

    #[test]
    fn a_family_divides_the_error_of_its_members() {
        let alone = |blocks| Stopping::alpha(&workload(blocks, None), 1);
        let among = |blocks| Stopping::alpha(&workload(blocks, None), 20);
        assert!(among(50) < 0.05 / 20.0 && among(50) > alone(50) / 20.0);
        assert!(among(10) < alone(10) / 20.0);
        let planned = WorkloadResult::default();
        assert_eq!(Stopping::alpha(&planned, 20), 0.05 / 20.0);
    }

    #[test]
    fn a_time_limit_spends_what_is_left() {
        let early = Stopping::alpha(&workload(30, Some(Stopped::Verdict)), 1);
        let late = Stopping::alpha(&workload(30, Some(Stopped::Time)), 1);
        assert!(
            early < 0.008 && late > 0.045 && late < 0.05,
            "{early} {late}"
        );
        let between = Stopping::alpha(&workload(33, Some(Stopped::Time)), 1);
        assert!(between > 0.03 && between < 0.05, "{between}");
    }

    /// Such a run is still going on, or was interrupted and may be resumed.
    #[test]
    fn a_run_between_two_looks_leaves_the_rest_of_its_error_to_them() {
        let alpha = |blocks, stopped| Stopping::alpha(&workload(blocks, stopped), 1);
        let chance = |blocks| Stopping::chance(&workload(blocks, None)).unwrap();
        for between in [33, 39] {
            let read = alpha(between, None);
            assert!(read < alpha(40, None), "{between}: {read}");
            assert!(read < alpha(between, Some(Stopped::Time)) / 2.0, "{read}");
            assert!(chance(between) < chance(40), "{between}");
        }
        assert_eq!(alpha(30, None), alpha(30, Some(Stopped::Verdict)));
    }

    #[test]
    fn a_run_whose_blocks_are_not_planned_yet_has_no_error_to_spend() {
        let rule = serde_json::to_value(Stopping::Answer { limit_s: 30.0 }).unwrap();
        let mut pilot = workload(6, None);
        pilot.params.insert(STOPPING.to_owned(), rule);
        assert_eq!(Stopping::alpha(&pilot, 1), 0.0);
        assert_eq!(Stopping::chance(&pilot), Some(0.0));
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
