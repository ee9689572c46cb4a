//! Other tools' output as sets of values: JSON of hyperfine, criterion and benchmark suites, lines
//! of Go's benchmarks, tables of benchstat and divan, and the output of `perf stat` as text, CSV or
//! JSON.
//!
//! # Files
//! - `json`: hyperfine and criterion; `suites`: Google Benchmark, pytest-benchmark, JMH and
//!   BenchmarkDotNet
//! - `go`: benchmarks; `tables`: benchstat and divan; `perf`: counters

mod go;
mod json;
mod perf;
mod suites;
mod tables;

use std::collections::BTreeMap;
use std::fmt;

use crate::model::result::Better;

/// Values of one command, benchmark or event, in one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The command, the benchmark or the event.
    pub name: String,
    /// As the tool writes it.
    pub unit: String,
    /// In the order of the file.
    pub values: Vec<f64>,
}

/// Facts about the measurement, as far as the file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Version of the tool.
    pub version: Option<String>,
    /// Time of the measurement, as the tool writes it.
    pub started: Option<String>,
    /// Name of the machine.
    pub host: Option<String>,
    /// Processor of the machine.
    pub cpu: Option<String>,
    /// Number of its processors.
    pub cpus: Option<u64>,
}

/// Another tool's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// The tool that wrote it.
    pub tool: Tool,
    /// Facts about the measurement.
    pub origin: Origin,
    /// In the order of the file.
    pub series: Vec<Series>,
    /// The direction of a unit, if the file gives it.
    pub better: BTreeMap<String, Better>,
}

/// The tool that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `hyperfine --export-json`.
    Hyperfine,
    /// criterion's `sample.json`.
    Criterion,
    /// `go test -bench`, and other tools that write such lines for benchstat.
    Go,
    /// The table of `benchstat`: medians only.
    Benchstat,
    /// The table of divan: medians only.
    Divan,
    /// `perf stat`.
    Perf,
    /// `--benchmark_format=json` of Google Benchmark.
    Google,
    /// `--benchmark-json` of pytest-benchmark.
    Pytest,
    /// `-rf json` of JMH.
    Jmh,
    /// The JSON exporter of BenchmarkDotNet.
    DotNet,
}

impl Tool {
    /// True if users usually compare the series of one file.
    pub fn compares_within(self) -> bool {
        !matches!(self, Self::Criterion | Self::Perf)
    }

    /// Its name in small letters and without blanks.
    pub fn slug(self) -> String {
        let name = self.to_string().to_lowercase();
        name.replace("'s", "").replace(' ', "-")
    }

    /// True if its files have medians only.
    pub fn is_summary(self) -> bool {
        matches!(self, Self::Benchstat | Self::Divan)
    }

    /// True if a benchmark has several units, so that its name does not suffice.
    fn has_units(self) -> bool {
        matches!(self, Self::Go | Self::Benchstat)
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hyperfine => "hyperfine",
            Self::Criterion => "criterion",
            Self::Go => "Go's benchmarks",
            Self::Benchstat => "benchstat",
            Self::Divan => "divan",
            Self::Perf => "perf stat",
            Self::Google => "Google Benchmark",
            Self::Pytest => "pytest-benchmark",
            Self::Jmh => "JMH",
            Self::DotNet => "BenchmarkDotNet",
        })
    }
}

impl Foreign {
    fn new(tool: Tool) -> Self {
        Self {
            tool,
            origin: Origin::default(),
            series: vec![],
            better: BTreeMap::new(),
        }
    }

    /// Adds a series.
    fn push(&mut self, name: String, unit: &str, values: Vec<f64>) {
        self.series.push(Series {
            name,
            unit: unit.to_owned(),
            values,
        });
    }

    /// Adds a value to the series of that name and unit.
    fn add(&mut self, name: &str, unit: &str, value: f64) {
        let mut all = self.series.iter_mut();
        match all.find(|one| one.name == name && one.unit == unit) {
            Some(series) => series.values.push(value),
            None => self.push(name.to_owned(), unit, vec![value]),
        }
    }

    /// The name of a series among those of the file.
    fn title(&self, series: &Series) -> String {
        match self.tool.has_units() {
            true => format!("{} {}", series.name, series.unit),
            false => series.name.clone(),
        }
    }
}

/// Bytes of a file's beginning that identify its tool.
pub const HEAD_BYTES: usize = 4096;

/// True if a file with this beginning may be another tool's.
pub fn may_be_foreign(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    json::is_json(&text) || go::is_go(&text) || tables::is_table(&text) || perf::is_perf(&text)
}

/// Reads another tool's file.
///
/// # Errors
/// The reason why it has no values, in a sentence with a remedy.
pub fn read(text: &str) -> Result<Foreign, String> {
    let foreign = if json::is_json(text) && !perf::is_perf(text) {
        json::read(text)?
    } else if tables::is_table(text) {
        // benchstat repeats the keys of Go's benchmarks.
        tables::read(text)
    } else if go::is_go(text) {
        go::read(text)
    } else {
        perf::read(text)?
    };
    let mut all = foreign.series.iter();
    if let Some(bad) = all.find(|one| one.values.iter().any(|v| !v.is_finite())) {
        return Err(format!(
            "`{}` has a value that is not finite; remove it",
            bad.name
        ));
    }
    if foreign.series.iter().all(|one| one.values.is_empty()) {
        let tool = foreign.tool;
        return Err(format!(
            "is written by {tool} and holds no value; measure again"
        ));
    }
    Ok(foreign)
}

/// The series of another tool's file, by the names that tell them apart.
///
/// # Shapes
/// `wanted` keeps the series whose name contains it. Without it, only the first of a benchmark's
/// units is kept.
///
/// # Errors
/// Those of [`read`]; no series has a wanted name.
pub fn chosen(text: &str, wanted: Option<&str>) -> Result<(Tool, Vec<Series>), String> {
    let foreign = read(text)?;
    let mut kept: Vec<Series> = vec![];
    for series in &foreign.series {
        let is_wanted = match wanted {
            Some(wanted) => foreign.title(series).contains(wanted),
            None => foreign.series.iter().find(|one| one.name == series.name) == Some(series),
        };
        if is_wanted {
            kept.push(Series {
                name: foreign.title(series),
                ..series.clone()
            });
        }
    }
    match wanted {
        Some(wanted) if kept.is_empty() => {
            let names: Vec<String> = foreign
                .series
                .iter()
                .map(|one| foreign.title(one))
                .collect();
            Err(format!("has no series `{wanted}`, but {}", listed(&names)))
        }
        _ => Ok((foreign.tool, kept)),
    }
}

/// A few names in a line.
pub fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`"));
    let mut line = shown.collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        line.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    line
}

#[cfg(test)]
mod tests;
