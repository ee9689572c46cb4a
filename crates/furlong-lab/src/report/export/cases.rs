//! A result as test programs and their cases: an arm is a program, a workload one of its cases.
#![forbid(unsafe_code)]

use crate::model::result::{ArmResult, ExperimentResult, WorkloadResult};
use crate::record::ledger::OPERATIONS;
use crate::report::outline::{self, Named};

/// The parameter with the number of calls that a case of the measured document made. Workloads with
/// it are shown as the document's cases.
const CALLS: &str = "calls";

/// An arm of an experiment.
pub(in crate::report) struct Program<'a> {
    pub(in crate::report) arm: &'a str,
    /// In the order in which the workloads ran.
    pub(in crate::report) cases: Vec<Case<'a>>,
}

/// An arm on a workload.
pub(in crate::report) struct Case<'a> {
    pub(in crate::report) workload: &'a WorkloadResult,
    pub(in crate::report) arm: &'a ArmResult,
    pub(in crate::report) status: Status,
    /// Seconds of the document's calls if it has their number, otherwise of a sample. `None` if the
    /// primary metric is neither a time nor a rate, or has no value.
    pub(in crate::report) seconds: Option<f64>,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::report) enum Status {
    /// No sample is missing, so every answer was right.
    Passed,
    /// Samples are missing, for this reason.
    Failed(String),
    /// The arm cannot run it, for this reason.
    Skipped(String),
}

/// Seconds of all cases together.
pub(in crate::report) fn total<'a>(cases: impl IntoIterator<Item = &'a Case<'a>>) -> f64 {
    let seconds = cases.into_iter().filter_map(|case| case.seconds);
    // The sum of nothing would be -0.
    seconds.fold(0.0, |sum, seconds| sum + seconds)
}

/// The programs of an experiment, as its first workload orders the arms.
pub(in crate::report) fn programs(e: &ExperimentResult) -> Vec<Program<'_>> {
    let arms = outline::arms(e).into_iter();
    let program = |arm| Program {
        arm,
        cases: e.workloads.iter().filter_map(|w| case(e, w, arm)).collect(),
    };
    arms.map(program).collect()
}

/// The same with the cases of the measured document only; empty if there are none.
pub(in crate::report) fn document_programs(e: &ExperimentResult) -> Vec<Program<'_>> {
    let mut programs = programs(e);
    for program in &mut programs {
        let is_of_document = |case: &Case<'_>| case.workload.params.contains_key(CALLS);
        program.cases.retain(is_of_document);
    }
    programs.retain(|program| !program.cases.is_empty());
    programs
}

fn case<'a>(e: &'a ExperimentResult, w: &'a WorkloadResult, arm: &str) -> Option<Case<'a>> {
    let arm = w.arms.iter().find(|known| known.name == arm)?;
    Some(Case {
        workload: w,
        arm,
        status: status(e, w, arm),
        seconds: outline::primary(e, w).and_then(|primary| seconds(w, arm, primary)),
    })
}

fn status(e: &ExperimentResult, w: &WorkloadResult, arm: &ArmResult) -> Status {
    if let Some(why) = &arm.na {
        return Status::Skipped(why.clone());
    }
    let mut whys = vec![];
    for (name, _) in outline::metrics(e) {
        let samples = arm.samples.get(name).map_or(&[][..], Vec::as_slice);
        let missing = samples.iter().filter(|value| value.is_none()).count();
        if missing > 0 {
            whys.push(format!(
                "{name}: {missing} of {} samples are missing",
                samples.len()
            ));
        }
    }
    let primary = outline::primary(e, w);
    let is_measured = primary.is_some_and(|(name, _)| arm.samples.contains_key(name));
    if !is_measured {
        whys.push("nothing was measured".to_owned());
    }
    if whys.is_empty() {
        return Status::Passed;
    }
    whys.extend(
        w.warnings
            .iter()
            .filter(|text| text.starts_with("given up"))
            .cloned(),
    );
    Status::Failed(whys.join("; "))
}

fn seconds(w: &WorkloadResult, arm: &ArmResult, (name, metric): Named<'_>) -> Option<f64> {
    let value = outline::typical(arm, name)?;
    let param = |name| w.params.get(name).and_then(serde_json::Value::as_f64);
    let times = param(CALLS).or_else(|| param(OPERATIONS)).unwrap_or(1.0);
    let (unit, is_rate) = match metric.unit.as_str() {
        "ns" => (1e-9, false),
        "us" | "µs" => (1e-6, false),
        "ms" => (1e-3, false),
        "s" => (1.0, false),
        "ops/s" | "1/s" => (1.0, true),
        _ => return None,
    };
    let seconds = if is_rate {
        times / value
    } else {
        times * value * unit
    };
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}
