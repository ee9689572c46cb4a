//! The programs of mimalloc-bench, which others wrote, in a folder that the user has fetched and
//! built.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;

use super::real::{Call, succeeded, task};
use crate::malloc::{Library, file};
use furlong_lab::measure::launch::launcher::Launcher;
use furlong_lab::model::{Failure, Outcome, Plan, Request, Workload};
use serde::Deserialize;

use super::Kind;

/// Variable that names its folder.
const FOLDER: &str = "FURLONG_MIMALLOC_BENCH";

/// The folder in which its build puts the programs.
const PROGRAMS: &str = "out/bench";

/// The time of a program, or the time that it reports.
const PROGRAM_S: &str = "program_s";

/// A program as a workload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Public {
    program: String,
    /// Separated by blanks; paths are relative to the programs' folder.
    #[serde(default)]
    arguments: String,
    /// File that it reads, in the folder of mimalloc-bench.
    #[serde(default)]
    input: Option<PathBuf>,
    /// The place of its figure, if it runs for a fixed time.
    #[serde(default)]
    reports: Option<Report>,
}

/// The figure of a program that runs for a fixed time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Report {
    /// Seconds for a fixed amount of work, after these words.
    Seconds(String),
    /// At the beginning, how much work it has done; the figure is the time for this much.
    TimeFor(u64),
}

impl Report {
    /// Finds the seconds in what a program says.
    fn find(&self, text: &str) -> Option<f64> {
        let number = |text: &str| {
            let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
            let (number, _) = text.split_at(end.unwrap_or(text.len()));
            number.parse().ok().filter(|number: &f64| *number > 0.0)
        };
        match self {
            Self::Seconds(words) => number(text.rsplit_once(words)?.1),
            Self::TimeFor(work) => Some(*work as f64 / number(text)?),
        }
    }
}

/// The plan, without the programs if no folder is named.
pub(super) fn there(plan: Plan) -> Plan {
    match env::var_os(FOLDER) {
        Some(_) => plan,
        None => alone(plan),
    }
}

/// The plan without the programs.
pub(super) fn alone(mut plan: Plan) -> Plan {
    let is_public = |load: &Workload| matches!(load.read(), Ok(Kind::Public(_)));
    plan.workloads.retain(|load| !is_public(load));
    plan.metrics.retain(|metric| metric.name != PROGRAM_S);
    plan
}

impl Public {
    fn folder() -> PathBuf {
        env::var_os(FOLDER).unwrap_or_default().into()
    }

    /// The reason if it was not built, otherwise `None`.
    pub(super) fn missing(&self) -> Option<String> {
        let program = Self::folder().join(PROGRAMS).join(&self.program);
        let input = self.input.as_ref().map(|input| Self::folder().join(input));
        let files = [Some(program), input].into_iter().flatten();
        let missing = files.into_iter().find(|file| !file.is_file())?;
        let missing = missing.display();
        Some(format!("{missing} is missing: build mimalloc-bench there"))
    }

    /// Runs it once.
    pub(super) fn run(&self, library: &Library, request: &Request) -> Result<Outcome, Failure> {
        let library = file(library)?;
        let programs = Self::folder().join(PROGRAMS);
        let programs = fs::canonicalize(programs).map_err(Failure::of)?;
        let home = tempfile::tempdir().map_err(Failure::of)?;
        let input = self.input.as_ref().map(|input| Self::folder().join(input));
        let call = Call {
            program: programs.join(&self.program),
            arguments: self.arguments.split_whitespace().map(Into::into).collect(),
            input: input.unwrap_or_else(|| "/dev/null".into()),
            settings: vec![],
        };
        let output = home.path().join("said");
        let mut task = task(&call, &library, output.clone());
        task.folder = Some(programs);
        let finished = Launcher::new().map_err(Failure::of)?.run(&task, None);
        let usage = succeeded(&self.program, finished)?;
        let seconds = match &self.reports {
            None => usage.wall_s,
            Some(report) => {
                let text = fs::read_to_string(&output).map_err(Failure::of)?;
                let silent = || Failure(format!("{} reports no figure", self.program));
                report.find(&text).ok_or_else(silent)?
            }
        };
        let metrics = [
            (PROGRAM_S, seconds),
            ("peak_rss_kib", usage.maxrss_kib as f64),
        ];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
        Ok(Outcome {
            metrics: BTreeMap::from(metrics),
            operations: request.operations,
            elapsed_s: usage.wall_s,
            // Times are in what it says.
            digest: request.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn the_figure_that_a_program_reports_is_found() {
        let seconds = |words: &str, text| Report::Seconds(words.to_owned()).find(text);
        let larson = "Throughput =  4567 operations per second, relative time: 2.190s.\n";
        assert_eq!(seconds("relative time: ", larson), Some(2.19));
        let xmalloc = "rtime: 0.341, free/sec: 87.930 M\n";
        assert_eq!(seconds("rtime: ", xmalloc), Some(0.341));
        assert_eq!(seconds("relative time: ", xmalloc), None);
        assert_eq!(seconds("rtime: ", "rtime: 0.000"), None);
        assert_eq!(seconds("rtime: ", "rtime: "), None);
        assert_eq!(Report::TimeFor(1000).find("250 iterations\n"), Some(4.0));
        assert_eq!(Report::TimeFor(1000).find("iterations: 250\n"), None);
    }
}
