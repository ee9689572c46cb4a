//! Blocks for the members of a family within one time for all: the cheapest to decide come first,
//! and time that one leaves over is the next one's.
//!
//! A pilot shows the spread and the time of a block. The plan never looks at the effect, so it
//! favours no verdict.

use serde_json::Value;

use crate::blocks::Blocks;
use crate::distribution::normal_upper;
use crate::paired::Paired;
use crate::stopping::{ANSWER_LOOKS, Stopping};
use crate::value::WorkloadResult;
use crate::verdict::{ALPHA, BLOCKS_MIN};

/// Blocks of the pilot. A verdict needs as many.
pub const PILOT: u32 = BLOCKS_MIN as u32;

/// The parameter of a workload with the seconds of one block.
pub const BLOCK_S: &str = "block_s";

/// The parameter of a workload with the number of blocks that would decide it.
pub const NEEDED: &str = "blocks_needed";

/// The parameter of a workload with the seconds that its family has together.
pub const BUDGET_S: &str = "budget_s";

/// Share of workloads without effect, or with twice the margin, that the needed blocks leave open.
const OPEN: f64 = 0.05;

/// Spare blocks for the looks, whose bounds are wider, and for a pilot that was quiet by chance.
const SPARE: f64 = 2.0;

/// The most that a plan exceeds the needed blocks by, if there is time.
const GENEROUS: f64 = 3.0;

/// Most blocks of a workload.
pub const BLOCKS_MAX: u32 = 5000;

/// The cost of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Blocks that decide it, with the pilot's.
    pub needed: u32,
    /// Seconds of a block.
    pub block_s: f64,
}

impl Member {
    /// Estimates a member of a family of `family` from its pilot.
    ///
    /// # Shapes
    ///
    /// `spread` is the deviation of its effects, `margin` the smallest effect that matters, both on
    /// the same scale.
    pub fn new(spread: f64, margin: f64, family: usize, block_s: f64) -> Self {
        let error = ALPHA / (2 * family.max(1)) as f64;
        let distance = normal_upper(error) + normal_upper(OPEN);
        let blocks = SPARE * (distance * spread / margin).powi(2);
        // Without a margin no number is enough. A cast saturates, and NaN becomes 0.
        let needed = (blocks.ceil() as u32).clamp(2 * PILOT, BLOCKS_MAX);
        Self { needed, block_s }
    }

    /// Estimates a workload from its blocks so far, and the parameters [`BLOCK_S`] and
    /// [`FAMILY`](crate::stopping::FAMILY).
    pub fn of(workload: &WorkloadResult, metric: &str, margin_pct: f64) -> Self {
        let effects = || {
            let [a, b, ..] = &workload.arms[..] else {
                return None;
            };
            let control = workload.control.get(metric).map(|one| &one.samples[..]);
            let (a, b) = (a.samples.get(metric)?, b.samples.get(metric)?);
            let blocks = Blocks::of(a, control, b);
            let margin = blocks.scale().distance(margin_pct);
            Some((Paired::of(&blocks.effects())?.stddev, margin))
        };
        let (spread, margin) = effects().unwrap_or_default();
        let block_s = workload.params.get(BLOCK_S).and_then(Value::as_f64);
        let family = Stopping::family(workload);
        Self::new(spread, margin, family, block_s.unwrap_or_default())
    }

    /// Seconds that it needs after the pilot.
    pub fn cost_s(&self) -> f64 {
        f64::from(self.needed - PILOT) * self.block_s
    }
}

/// Returns the most blocks of the first member, with the pilot's, if `left_s` seconds are left for
/// all. Members are in the order of their costs, the least first.
///
/// If there is time for all, it is divided in proportion to the needs. If not, the first gets its
/// need. If not even that fits, no other can be decided either, and each gets an equal part.
pub fn planned(members: &[Member], left_s: f64) -> u32 {
    let Some(first) = members.first() else {
        return PILOT;
    };
    let total_s: f64 = members.iter().map(Member::cost_s).sum();
    let (cost_s, left_s) = (first.cost_s(), left_s.max(0.0));
    let own_s = if total_s <= left_s {
        cost_s * (left_s / total_s).min(GENEROUS)
    } else if cost_s <= left_s {
        cost_s
    } else {
        left_s / members.len() as f64
    };
    let more = (own_s / first.block_s.max(1e-6)) as u32;
    round(PILOT.saturating_add(more).min(BLOCKS_MAX))
}

/// Rounds up to a multiple of the looks. The errors of looks are integrals that are kept for the
/// shares of a plan, and such plans have the same shares.
fn round(blocks: u32) -> u32 {
    match blocks < 2 * ANSWER_LOOKS {
        true => blocks,
        false => blocks.next_multiple_of(ANSWER_LOOKS),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS_MAX, GENEROUS, Member, PILOT, planned, round};

    fn members(needed: &[u32]) -> Vec<Member> {
        let member = |needed: &u32| Member {
            needed: *needed,
            block_s: 0.5,
        };
        needed.iter().map(member).collect()
    }

    #[test]
    fn noise_and_a_large_family_cost_blocks() {
        let needed = |spread, family| Member::new(spread, 0.01, family, 1.0).needed;
        assert_eq!(needed(0.001, 1), 2 * PILOT);
        // 2 (1.960 + 1.645)^2 and 2 (3.023 + 1.645)^2.
        assert_eq!((needed(0.01, 1), needed(0.01, 20)), (26, 44));
        assert_eq!(needed(0.1, 20), 4359);
        assert_eq!(Member::new(0.01, 0.0, 1, 1.0).needed, BLOCKS_MAX);
        assert_eq!(Member::new(0.0, 0.0, 1, 1.0).needed, 2 * PILOT);
    }

    #[test]
    fn time_for_all_is_divided_by_need() {
        let all = members(&[26, 106]);
        assert_eq!(planned(&all, 60.0), 30);
        assert_eq!(planned(&all, 90.0), round(PILOT + 30));
        assert_eq!(planned(&all, 1e6), round(PILOT + 20 * GENEROUS as u32));
        assert_eq!(planned(&all[1..], 60.0), round(PILOT + 120));
    }

    #[test]
    fn what_is_cheap_is_decided_first_and_the_rest_share_equally() {
        assert_eq!(planned(&members(&[26, 106]), 40.0), 30);
        assert_eq!(planned(&members(&[106, 206]), 40.0), round(PILOT + 40));
        assert_eq!(planned(&members(&[106]), 0.0), PILOT);
        assert_eq!(planned(&members(&[106]), -1.0), PILOT);
        assert_eq!(planned(&[], 9.0), PILOT);
    }

    #[test]
    fn plans_are_rounded_up_to_even_looks() {
        let rounded = [6, 19, 20, 21, 99, BLOCKS_MAX].map(round);
        assert_eq!(rounded, [6, 19, 20, 30, 100, BLOCKS_MAX]);
    }
}
