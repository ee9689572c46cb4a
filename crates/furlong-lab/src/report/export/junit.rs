//! A result as `JUnit` XML, laid out like the output of `kyua report-junit`: one suite. Facts about
//! the run are its properties, and an arm is the class of its cases.
//!
//! A missing sample is a failure. A verdict is not: an arm may well be slower than another
//! (`--fail-on` makes that fail).

use maud::{Markup, PreEscaped, html};

use crate::model::result::{ArmResult, ExperimentResult, Kind, ResultFile, WorkloadResult};
use crate::record::ledger::OPERATIONS;
use crate::report::finite::finite;
use crate::report::outline;
use crate::report::quantity::Scale;
use crate::report::text::{command_line, plain};

/// The parameter with the number of calls that a case of the measured document made.
const CALLS: &str = "calls";

/// An arm on a workload.
struct Case<'a> {
    experiment: &'a ExperimentResult,
    workload: &'a WorkloadResult,
    arm: &'a ArmResult,
    /// Reason why it failed: samples are missing.
    failure: Option<String>,
    /// Seconds of the document's calls if it has their number, otherwise of a sample. `None` if the
    /// primary metric is neither a time nor a rate, or has no value.
    seconds: Option<f64>,
}

/// The whole result as one suite.
///
/// # Shapes
/// `classname` is `EXPERIMENT.ARM`, `name` the workload. `time` is in seconds: of the calls that
/// the measured document made, if there is one, otherwise of a sample.
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let cases: Vec<Case<'_>> = file.experiments.iter().flat_map(cases).collect();
    let failed = cases.iter().filter(|case| case.failure.is_some()).count();
    let skipped = cases.iter().filter(|case| case.arm.na.is_some()).count();
    let seconds = cases.iter().filter_map(|case| case.seconds);
    // The sum of nothing would be -0.
    let seconds = seconds.fold(0.0, |sum, seconds| sum + seconds);
    let suite = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuite name="furlong" tests=(cases.len()) failures=(failed) errors="0"
            skipped=(skipped) time=(time(seconds)) timestamp=(xml(&file.run.started)) {
            (line())
            (properties(&file))
            @for case in &cases { (case.render()) (line()) }
        }
        (line())
    };
    suite.into_string()
}

/// Seconds with the digits of a microsecond.
fn time(seconds: f64) -> String {
    format!("{seconds:.6}")
}

fn line() -> PreEscaped<&'static str> {
    PreEscaped("\n")
}

fn properties(file: &ResultFile) -> Markup {
    let run = &file.run;
    let seed = run.seed.to_string();
    let command = command_line(&run.command);
    let known = [
        ("run", Some(run.id.as_str())),
        ("command", Some(command.as_str())),
        ("profile", Some(run.profile.as_str())),
        ("seed", Some(seed.as_str())),
        ("version", Some(run.version.as_str())),
        ("tag", run.tag.as_deref()),
        ("note", run.note.as_deref()),
        ("host", Some(run.machine.host.as_str())),
        ("cpu", run.machine.cpu.as_deref()),
        ("kernel", Some(run.machine.kernel.as_str())),
    ];
    html! {
        properties {
            (line())
            @for (name, value) in known {
                @if let Some(value) = value {
                    property name=(name) value=(xml(value)) {}
                    (line())
                }
            }
        }
        (line())
    }
}

/// The cases of an experiment: all workloads of an arm, as its first workload orders the arms.
fn cases(e: &ExperimentResult) -> Vec<Case<'_>> {
    let of = |arm: &str| {
        let cases = e.workloads.iter().filter_map(|workload| {
            let arm = workload.arms.iter().find(|known| known.name == arm)?;
            Some(Case {
                experiment: e,
                workload,
                arm,
                failure: failure(e, workload, arm),
                seconds: seconds(e, workload, arm),
            })
        });
        cases.collect::<Vec<_>>()
    };
    outline::arms(e).into_iter().flat_map(of).collect()
}

fn failure(e: &ExperimentResult, w: &WorkloadResult, arm: &ArmResult) -> Option<String> {
    if arm.na.is_some() {
        return None;
    }
    let mut whys = vec![];
    for (name, _) in e.named() {
        let samples = arm.samples.get(name).map_or(&[][..], Vec::as_slice);
        let missing = samples.iter().filter(|value| value.is_none()).count();
        if missing > 0 {
            let all = samples.len();
            whys.push(format!("{name}: {missing} of {all} samples are missing"));
        }
    }
    let primary = outline::primary(e, w);
    if !primary.is_some_and(|(name, _)| arm.samples.contains_key(name)) {
        whys.push("nothing was measured".to_owned());
    }
    let given_up = w
        .warnings
        .iter()
        .filter(|text| text.starts_with("given up"));
    (!whys.is_empty()).then(|| {
        whys.extend(given_up.cloned());
        whys.join("; ")
    })
}

fn seconds(e: &ExperimentResult, w: &WorkloadResult, arm: &ArmResult) -> Option<f64> {
    let (name, metric) = outline::primary(e, w)?;
    let value = outline::typical(arm, name)?;
    let param = |name| w.params.get(name).and_then(serde_json::Value::as_f64);
    let times = param(CALLS).or_else(|| param(OPERATIONS)).unwrap_or(1.0);
    let seconds = match metric.unit.as_str() {
        "ns" => times * value * 1e-9,
        "us" | "µs" => times * value * 1e-6,
        "ms" => times * value * 1e-3,
        "s" => times * value,
        "ops/s" | "1/s" => times / value,
        _ => return None,
    };
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

impl Case<'_> {
    fn render(&self) -> Markup {
        let class = format!("{}.{}", self.experiment.name, self.arm.name);
        let figures = self.figures();
        let warnings = &self.workload.warnings;
        html! {
            testcase classname=(xml(&class)) name=(xml(&self.workload.name))
                time=[self.seconds.map(time)] {
                @if let Some(why) = &self.failure { failure message=(xml(why)) {} }
                @if let Some(why) = &self.arm.na { skipped message=(xml(why)) {} }
                @if !figures.is_empty() { system-out { (lines(&figures)) } }
                @if !warnings.is_empty() { system-err { (lines(warnings)) } }
            }
        }
    }

    /// One line per metric: its typical value, and the number of samples behind that median.
    fn figures(&self) -> Vec<String> {
        let metrics = self.experiment.named().into_iter();
        let figure = metrics.filter_map(|(name, metric)| {
            let value = outline::typical(self.arm, name)?;
            let value = Scale::of(&metric.unit, [value]).show(value);
            let n = outline::values(self.arm, name).len();
            Some(match metric.kind {
                Kind::Exact => format!("{name}: {value}, exact"),
                Kind::Sampled => format!("{name}: {value}, median of {n}"),
            })
        });
        figure.collect()
    }
}

/// Several texts, each on its line.
fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| xml(text) + "\n").collect()
}

/// Text without the characters that XML 1.0 cannot hold, even escaped.
fn xml(text: &str) -> String {
    plain(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
