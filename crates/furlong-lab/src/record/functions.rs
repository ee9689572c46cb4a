//! Functions behind a difference in instructions, as a run keeps them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::result::WorkloadResult;
use furlong_stats::attribution::Attribution;

/// Parameter of a workload that holds its [`Functions`].
pub const FUNCTIONS: &str = "functions";

/// Most functions that are kept for a difference.
pub const FUNCTIONS_MAX: usize = 5;

/// The difference of each arm from the baseline in instructions, by function.
pub type Functions = BTreeMap<String, Attribution>;

/// Returns the functions behind the difference of an arm, if they were counted and differ.
pub fn behind(workload: &WorkloadResult, arm: &str) -> Option<Attribution> {
    let kept = workload.params.get(FUNCTIONS)?.get(arm)?;
    let kept = Attribution::deserialize(kept).ok()?;
    (!kept.causes.is_empty()).then_some(kept)
}
