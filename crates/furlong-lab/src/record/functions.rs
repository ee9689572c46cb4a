//! Functions behind a difference in instructions, as a run keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::result::WorkloadResult;
use furlong_stats::attribution::Attribution;
use furlong_stats::flame::Frame;

/// Parameter of a workload that holds its [`Functions`].
pub const FUNCTIONS: &str = "functions";

/// Most functions that are kept for a difference.
pub const FUNCTIONS_MAX: usize = 5;

/// Most frames of call stacks that are kept for a difference.
pub const FRAMES_MAX: usize = 200;

/// The difference of each arm from the baseline.
pub type Functions = BTreeMap<String, Difference>;

/// A difference in instructions, by function.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The greatest causes.
    #[serde(flatten)]
    pub attribution: Attribution,
    /// The call stacks of both; none if nothing differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
}

/// Returns the functions behind the difference of an arm, if they were counted and differ.
pub fn behind(workload: &WorkloadResult, arm: &str) -> Option<Attribution> {
    let kept = workload.params.get(FUNCTIONS)?.get(arm)?;
    let kept = Attribution::deserialize(kept).ok()?;
    (!kept.causes.is_empty()).then_some(kept)
}

/// Returns the call stacks of an arm and its baseline, the start first and every caller before its
/// callees. `None` if they were not kept, or are none.
pub fn frames(workload: &WorkloadResult, arm: &str) -> Option<Vec<Frame>> {
    let kept = workload.params.get(FUNCTIONS)?.get(arm)?.get("frames")?;
    let kept = Vec::<Frame>::deserialize(kept).ok()?;
    let is_right = |(at, frame): (usize, &Frame)| {
        let is_placed = match frame.caller {
            Some(caller) => caller < at,
            None => at == 0,
        };
        is_placed && frame.own.iter().all(|cost| *cost >= 0.0)
    };
    let is_whole = (1..=FRAMES_MAX).contains(&kept.len());
    (is_whole && kept.iter().enumerate().all(is_right)).then_some(kept)
}
