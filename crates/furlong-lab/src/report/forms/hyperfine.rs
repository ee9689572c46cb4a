//! The output of `hyperfine --export-json`, for scripts that read it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::super::outline::values;
use super::super::text::plain;
use crate::model::result::{ArmResult, ResultFile, WorkloadResult};
use furlong_stats::describe;

/// The parameter of a workload with a sweep's values for its commands, by arm.
pub const PARAMETERS: &str = "parameters";

/// The parameter of a workload whose commands may fail.
pub const IGNORE_FAILURE: &str = "ignore_failure";

/// The file.
#[derive(Serialize)]
struct Export {
    results: Vec<Benchmark>,
}

/// One command: times in seconds.
#[derive(Serialize)]
struct Benchmark {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory_usage_byte: Vec<u64>,
    /// `None` if exit codes were not checked.
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

pub(super) fn render(file: &ResultFile) -> Result<String, String> {
    let mut results = vec![];
    for experiment in &file.experiments {
        if !experiment.metrics.contains_key("wall_s") {
            return Err(format!(
                "--format hyperfine-json: `{}` has no wall_s: this format needs a run of `furlong \
                 compare`",
                plain(&experiment.name)
            ));
        }
        let workloads = experiment.workloads.iter();
        let all = workloads.flat_map(|w| w.arms.iter().filter_map(|arm| benchmark(w, arm)));
        results.extend(all);
    }
    let mut text = serde_json::to_string_pretty(&Export { results })
        .map_err(|error| format!("--format hyperfine-json: {error}"))?;
    text.push('\n');
    Ok(text)
}

/// A command with at least one run.
fn benchmark(w: &WorkloadResult, arm: &ArmResult) -> Option<Benchmark> {
    let times = values(arm, "wall_s");
    let summary = describe(&times)?;
    let mean_of = |metric: &str| describe(&values(arm, metric)).map_or(0.0, |s| s.mean);
    let may_fail = w.params.contains_key(IGNORE_FAILURE);
    let kib = values(arm, "maxrss_kib");
    Some(Benchmark {
        command: arm.name.clone(),
        mean: summary.mean,
        stddev: summary.stddev,
        median: summary.median,
        user: mean_of("user_s"),
        system: mean_of("sys_s"),
        min: summary.min,
        max: summary.max,
        exit_codes: vec![(!may_fail).then_some(0); times.len()],
        times,
        memory_usage_byte: kib.iter().map(|kib| *kib as u64 * 1024).collect(),
        parameters: parameters(w, &arm.name),
    })
}

/// The sweep's values for the arm.
fn parameters(w: &WorkloadResult, arm: &str) -> BTreeMap<String, String> {
    let given = w.params.get(PARAMETERS).and_then(|all| all.get(arm));
    let given = given.and_then(Value::as_object).into_iter().flatten();
    given
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}
