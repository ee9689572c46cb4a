//! Lines of Go's benchmarks, which benchstat reads: `benchstat -col arm FILE`.
//!
//! Each sample is a line. The arm precedes its lines as a key of its own and is not part of their
//! name. Names may therefore hold blanks, and the rows of different arms have the same name.
#![forbid(unsafe_code)]

use super::super::outline::metrics;
use super::super::text::plain;
use crate::model::result::{
    ArmResult, Better, ExperimentResult, Kind, Metric, ResultFile, WorkloadResult,
};

/// Keys, units and lines of every experiment.
pub(super) fn render(file: &ResultFile) -> String {
    let machine = &file.run.machine;
    let mut text = format!("goos: {}\n", std::env::consts::OS);
    if let Some(cpu) = &machine.cpu {
        text.push_str(&format!("cpu: {}\n", plain(cpu)));
    }
    text.push_str(&format!("run: {}\n", plain(&file.run.id)));
    for experiment in &file.experiments {
        text.push_str(&format!("pkg: {}\n", plain(&experiment.name)));
        for (name, metric) in metrics(experiment) {
            text.push_str(&declared(name, metric));
        }
        for workload in &experiment.workloads {
            for arm in &workload.arms {
                text.push_str(&lines(experiment, workload, arm));
            }
        }
    }
    text
}

/// The declaration of a unit for benchstat.
fn declared(name: &str, metric: &Metric) -> String {
    let better = match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
    };
    let exact = match metric.kind {
        Kind::Exact => " assume=exact",
        Kind::Sampled => "",
    };
    format!("Unit {} better={better}{exact}\n", unit(name))
}

/// The unit made from a metric's name: without blanks, and with seconds in the form that benchstat
/// recognizes.
fn unit(name: &str) -> String {
    let word = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("-");
    match name {
        "wall_s" => "sec/op".to_owned(),
        _ => match name.strip_suffix("_s") {
            Some(rest) => format!("{}-sec/op", word(rest)),
            None => word(name),
        },
    }
}

fn lines(e: &ExperimentResult, w: &WorkloadResult, arm: &ArmResult) -> String {
    let runs = arm.samples.values().map(Vec::len).max().unwrap_or(0);
    if runs == 0 {
        return String::new();
    }
    let mut text = format!("\narm: {}\n", plain(&arm.name));
    for run in 0..runs {
        let value = |(name, metric): (&str, &Metric)| {
            let samples = arm.samples.get(name)?;
            // An exact metric has one value, which stands for every run.
            let place = if metric.kind == Kind::Exact { 0 } else { run };
            let value = (*samples.get(place)?)?;
            Some(format!("\t{value} {}", unit(name)))
        };
        let values: String = metrics(e).into_iter().filter_map(value).collect();
        if !values.is_empty() {
            let operations = w
                .params
                .get("operations")
                .and_then(serde_json::Value::as_u64);
            let operations = operations.unwrap_or(1);
            text.push_str(&format!("{}\t{operations}{values}\n", benchmark(&w.name)));
        }
    }
    text
}

/// `BenchmarkCommands`, `BenchmarkThreads=1/size=2`: one word, in the form of a benchmark's name.
fn benchmark(workload: &str) -> String {
    let mut words: String = workload
        .chars()
        .map(|letter| match letter {
            ',' => '/',
            letter if letter.is_whitespace() || letter.is_control() => '_',
            letter => letter,
        })
        .collect();
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("Benchmark{words}")
}
