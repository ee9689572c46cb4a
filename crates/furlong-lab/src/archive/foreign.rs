//! Other tools' files as runs: for the store, and for a difference of two files.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use jiff::{Timestamp, Zoned};

use crate::error::{Error, cause};
use crate::hash::fnv1a;
use crate::history::agreement::agrees;
use crate::ministat::foreign::{self, Foreign, Origin, Series, Tool};
use crate::model::result::{
    ArmResult, Better, ExperimentResult, Kind, Machine, Metric, ResultFile, Run, SCHEMA,
    WorkloadResult,
};
use crate::record::run_name::run_name;
use crate::report::json;

/// Hint about the source of results.
const WRITTEN: &str = "write one with the option --json of run, compare or show";

/// Profile of a run that another tool measured.
pub const IMPORTED: &str = "imported";

/// Host of a file that does not name one.
pub(crate) const UNKNOWN: &str = "unknown";

/// Most bytes of a file. Devices have no end.
const BYTES_MAX: u64 = 256 << 20;

/// The only arm of a workload: the tool did not measure it in turns with another one.
const ARM: &str = "measured";

/// Most values of a series. The rounds of one process follow each other and are alike, so means of
/// as many in a row are kept instead of more.
const VALUES_MAX: usize = 256;

/// Reads a file as a run: a result of furlong's own, or another tool's file. `-` is standard input.
///
/// # Errors
///
/// It cannot be read, is neither, or contradicts itself.
pub fn read(path: &Path) -> Result<ResultFile, Error> {
    let name = path.display();
    let bytes = whole(path)
        .map_err(|error| Error::usage(format!("cannot read {name}: {}", cause(&error))))?;
    if bytes.len() as u64 > BYTES_MAX {
        let most = BYTES_MAX >> 20;
        return Err(Error::usage(format!("{name} has more than {most} MiB")));
    }
    let text = String::from_utf8_lossy(&bytes);
    if text.trim().is_empty() {
        return Err(Error::usage(format!("{name} is empty: {WRITTEN}")));
    }
    let result = match json::read(&text) {
        Ok(result) => result,
        Err(error) if text.contains(SCHEMA) || !foreign::may_be_foreign(&bytes) => {
            return Err(Error::usage(format!(
                "{name} is not a result of furlong ({error}): {WRITTEN}"
            )));
        }
        Err(_) => {
            let read = foreign::read(&text).and_then(none_negative);
            let foreign = read.map_err(|what| {
                Error::usage(format!("{name} is not a result of furlong, and {what}"))
            })?;
            run_of(&foreign, path, fnv1a(&bytes))
        }
    };
    agrees(&result).map_err(|what| Error::usage(format!("{name} is inconsistent: {what}")))?;
    Ok(result)
}

/// The content of a file up to one byte more than [`BYTES_MAX`].
fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let input: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path)?),
    };
    let mut bytes = vec![];
    input.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Refuses values below zero: they have no ratio to any other.
fn none_negative(foreign: Foreign) -> Result<Foreign, String> {
    let mut all = foreign.series.iter();
    match all.find(|one| one.values.iter().any(|value| *value < 0.0)) {
        Some(bad) => Err(format!("`{}` has a value below zero; remove it", bad.name)),
        None => Ok(foreign),
    }
}

/// Returns another tool's file as a run. The same content is the same run.
fn run_of(foreign: &Foreign, path: &Path, content: u64) -> ResultFile {
    let Foreign { tool, origin, .. } = foreign;
    let version = origin.version.iter();
    let version = version.fold(tool.to_string(), |tool, version| {
        format!("{tool} {version}")
    });
    let (started, warning) = started(origin, path);
    let file = path.file_name().unwrap_or(path.as_os_str());
    let run = Run {
        id: run_name(content),
        started,
        command: vec!["import".to_owned(), path.display().to_string()],
        profile: IMPORTED.to_owned(),
        version,
        note: Some(format!("imported from {}", file.display())),
        machine: machine(origin),
        warnings: warning.into_iter().collect(),
        ..Run::default()
    };
    let mut experiment = ExperimentResult {
        name: tool.slug(),
        question: format!("How long do the benchmarks of {tool} take?"),
        ..ExperimentResult::default()
    };
    let mut seen: HashMap<(String, String), u32> = HashMap::new();
    for series in &foreign.series {
        let better = foreign.better.get(&series.unit).copied();
        let unit = Unit::of(&series.unit, better);
        let name = workload(*tool, series, path);
        // Benchmarks of one name and unit are numbered in the order of the file, so that none
        // replaces another.
        let number = seen.entry((name.clone(), unit.metric.clone())).or_default();
        *number += 1;
        match number {
            1 => add(&mut experiment, series, unit, &name),
            _ => add(&mut experiment, series, unit, &format!("{name} #{number}")),
        }
    }
    ResultFile {
        schema: SCHEMA.to_owned(),
        run,
        experiments: vec![experiment],
    }
}

/// The time of the measurement; without one in the file, that of the file, and a warning.
fn started(origin: &Origin, path: &Path) -> (String, Option<String>) {
    let told = origin.started.as_deref();
    if let Some(told) = told.filter(|told| told.parse::<Timestamp>().is_ok()) {
        return (told.to_owned(), None);
    }
    let changed = fs::metadata(path).and_then(|file| file.modified());
    let time = changed.ok().and_then(|time| Timestamp::try_from(time).ok());
    let time = time.unwrap_or_else(|| Zoned::now().timestamp());
    let text = "the file does not say when it was measured: the time is that of the file";
    (time.to_string(), Some(text.to_owned()))
}

fn machine(origin: &Origin) -> Machine {
    let host = origin.host.as_deref().unwrap_or(UNKNOWN);
    let (cpu, cpus) = (&origin.cpu, origin.cpus.unwrap_or(0));
    let told = format!("imported {host} {cpu:?} {cpus}");
    Machine {
        id: format!("{:016x}", fnv1a(told.as_bytes())),
        host: host.to_owned(),
        kernel: "an unknown kernel".to_owned(),
        cpu: cpu.clone(),
        cpus: cpus.try_into().unwrap_or(0),
        ..Machine::default()
    }
}

/// The name of a series. criterion's file has none: it is that of its folders.
fn workload(tool: Tool, series: &Series, path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let mut parts: Vec<_> = parts.collect();
    if tool != Tool::Criterion || parts.len() < 3 {
        return series.name.clone();
    }
    // group/function/parameter/new/sample.json
    parts.truncate(parts.len() - 2);
    let root = parts.iter().position(|part| part == "criterion");
    parts.drain(..root.map_or(0, |root| root + 1));
    parts.join("/")
}

/// Adds a series as a metric of a workload.
fn add(experiment: &mut ExperimentResult, series: &Series, unit: Unit, name: &str) {
    if !experiment.metrics.contains_key(&unit.metric) {
        let metric = Metric {
            unit: unit.symbol.to_owned(),
            better: unit.better,
            kind: Kind::Sampled,
            primary: experiment.metrics.is_empty(),
            margin_pct: None,
            about: String::new(),
        };
        experiment.metrics.insert(unit.metric.clone(), metric);
        experiment.metric_order.push(unit.metric.clone());
    }
    let all = &mut experiment.workloads;
    let place = all
        .iter()
        .position(|one| one.name == name)
        .unwrap_or_else(|| {
            all.push(WorkloadResult {
                name: name.to_owned(),
                arms: vec![ArmResult {
                    name: ARM.to_owned(),
                    ..ArmResult::default()
                }],
                ..WorkloadResult::default()
            });
            all.len() - 1
        });
    let workload = &mut all[place];
    let values = means(&series.values);
    let values = values.into_iter().map(|value| Some(value * unit.factor));
    workload.arms[0]
        .samples
        .insert(unit.metric, values.collect());
    let samples = &mut workload.arms[0].samples;
    let blocks = samples.values().map(Vec::len).max().unwrap_or(0);
    samples
        .values_mut()
        .for_each(|values| values.resize(blocks, None));
    workload.blocks = (1..=blocks as u32).collect();
    workload.order = vec![vec![ARM.to_owned()]; blocks];
}

/// The values, or the means of as many in a row as leave at most [`VALUES_MAX`].
fn means(values: &[f64]) -> Vec<f64> {
    let length = values.len().div_ceil(VALUES_MAX).max(1);
    let chunks = values.chunks(length);
    chunks
        .map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64)
        .collect()
}

/// Units of time, as tools write them.
const TIMES: [&str; 20] = [
    "ns", "us", "µs", "μs", "ms", "s", "sec", "second", "seconds", "m", "min", "minute", "minutes",
    "h", "hr", "hour", "hours", "d", "day", "days",
];

/// A tool's unit in furlong's terms.
struct Unit {
    metric: String,
    symbol: &'static str,
    /// Factor from the tool's unit to ours.
    factor: f64,
    better: Better,
}

impl Unit {
    /// The unit, and the direction that the file itself gives, if it does.
    fn of(told: &str, better: Option<Better>) -> Self {
        let known = Self::known(told);
        Self {
            better: better.unwrap_or(known.better),
            ..known
        }
    }

    fn known(told: &str) -> Self {
        let lower = |metric: &str, symbol, factor| Self {
            metric: metric.to_owned(),
            symbol,
            factor,
            better: Better::Lower,
        };
        match told.strip_suffix("/op").unwrap_or(told) {
            "ns" => lower("time_ns", "ns", 1.0),
            "us" | "µs" => lower("time_ns", "ns", 1e3),
            "ms" => lower("time_ns", "ns", 1e6),
            "s" | "sec" => lower("time_s", "s", 1.0),
            "B" => lower("bytes_per_op", "B", 1.0),
            "1" => lower("count", "1", 1.0),
            other => {
                let symbols = |c: char| !c.is_ascii_alphanumeric();
                let words: Vec<&str> = other
                    .split(symbols)
                    .filter(|word| !word.is_empty())
                    .collect();
                // A rate: `ops/s`, `MB/s`, `B/s`, but not `ns/key`.
                let is_rate = other
                    .rsplit_once('/')
                    .is_some_and(|(_, per)| TIMES.contains(&per));
                let metric = words.join("_per_");
                Self {
                    metric: if metric.is_empty() {
                        "value".to_owned()
                    } else {
                        metric
                    },
                    symbol: "1",
                    factor: 1.0,
                    better: if is_rate {
                        Better::Higher
                    } else {
                        Better::Lower
                    },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
