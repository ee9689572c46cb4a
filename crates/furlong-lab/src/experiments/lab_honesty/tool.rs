//! The tools that compare, each with the rule by which its figures are read.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use super::programs::{Programs, SHELL};
use crate::experiments::{Failure, said};
use crate::measure::launcher::{Launcher, Task};
use crate::record::build;
use crate::record::result::{Comparison, ResultFile, Verdict};
use crate::stats::{student, welch};

/// Something that compares two commands.
pub(super) trait Tool: Sized {
    /// With so many runs of each.
    fn new(runs: u64) -> Result<Self, Failure>;

    /// Whether it calls programs different that are not.
    fn calls_different(&mut self, programs: &Programs) -> Result<bool, Failure>;

    /// Whether it calls the second program slower.
    fn calls_slower(&mut self, programs: &Programs) -> Result<bool, Failure>;
}

/// The level of a test.
const ALPHA: f64 = 0.05;

/// hyperfine, its times judged by Welch.
pub(super) struct Hyperfine {
    runs: u64,
}

/// What hyperfine exports.
#[derive(Deserialize)]
struct Exported {
    results: Vec<Times>,
}

#[derive(Deserialize)]
struct Times {
    times: Vec<f64>,
}

impl Hyperfine {
    /// Why there is none.
    pub(super) fn missing() -> Option<String> {
        let found = Command::new("hyperfine")
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let is_there = found.is_ok_and(|status| status.success());
        let how = "hyperfine is not installed (on Debian: apt-get install hyperfine)";
        (!is_there).then(|| how.to_owned())
    }

    fn times(&self, programs: &Programs) -> Result<[Vec<f64>; 2], Failure> {
        let file = programs.beside("times.json");
        let mut command = Command::new("hyperfine");
        command.args(["-N", "--style", "none", "--runs", &self.runs.to_string()]);
        command
            .arg("--export-json")
            .arg(&file)
            .args(programs.commands());
        finished(command)?;
        let text = fs::read_to_string(&file).map_err(said)?;
        let exported: Exported = serde_json::from_str(&text).map_err(said)?;
        let times: Vec<Vec<f64>> = exported.results.into_iter().map(|one| one.times).collect();
        times
            .try_into()
            .map_err(|_| Failure("hyperfine did not export two commands".to_owned()))
    }
}

impl Tool for Hyperfine {
    fn new(runs: u64) -> Result<Self, Failure> {
        Ok(Self { runs })
    }

    fn calls_different(&mut self, programs: &Programs) -> Result<bool, Failure> {
        let [a, b] = self.times(programs)?;
        Ok(welch(&a, &b).is_some_and(|test| test.p < ALPHA))
    }

    fn calls_slower(&mut self, programs: &Programs) -> Result<bool, Failure> {
        let [a, b] = self.times(programs)?;
        Ok(welch(&a, &b).is_some_and(|test| test.p < ALPHA && test.t > 0.0))
    }
}

/// All runs of one, then all of the other, judged as poop does.
pub(super) struct BlockOrder {
    runs: u64,
    launcher: Launcher,
}

/// poop calls different what lies wholly beyond so many per cent.
const POOP_PCT: f64 = 1.0;

impl BlockOrder {
    /// The ends of the interval of the difference, per cent.
    fn interval(&self, programs: &Programs) -> Result<[f64; 2], Failure> {
        let mut walls = vec![];
        for script in programs.scripts() {
            let task = Task::new(Path::new(SHELL), &[&script]);
            let run = |_| self.launcher.run(&task, None).map_err(said);
            let runs = (0..self.runs).map(run).collect::<Result<Vec<_>, _>>()?;
            walls.push(
                runs.iter()
                    .map(|run| run.usage.wall_s)
                    .collect::<Vec<f64>>(),
            );
        }
        let found = student(&walls[0], &walls[1], 1.0 - ALPHA);
        let found = found.ok_or_else(|| Failure("too few runs for a difference".to_owned()))?;
        let (middle, half) = (found.difference_pct, found.plus_minus_pct);
        Ok([middle - half, middle + half])
    }
}

impl Tool for BlockOrder {
    fn new(runs: u64) -> Result<Self, Failure> {
        Ok(Self {
            runs,
            launcher: Launcher::new().map_err(said)?,
        })
    }

    fn calls_different(&mut self, programs: &Programs) -> Result<bool, Failure> {
        let [low, high] = self.interval(programs)?;
        Ok(low > POOP_PCT || high < -POOP_PCT)
    }

    fn calls_slower(&mut self, programs: &Programs) -> Result<bool, Failure> {
        Ok(self.interval(programs)?[0] > POOP_PCT)
    }
}

/// `furlong compare`.
pub(super) struct Furlong {
    runs: u64,
}

/// The margin at which the slower program is to be found.
const MARGIN_PCT: &str = "0.5";

impl Furlong {
    fn wall(&self, programs: &Programs) -> Result<Comparison, Failure> {
        let file = programs.beside("result.json");
        let mut command = Command::new(build::executable().map_err(said)?);
        command.args(["compare", "--quiet", "--db", "none", "--html", "none"]);
        command.args(["--blocks", &self.runs.to_string(), "--margin", MARGIN_PCT]);
        command.args(["--names", "a,b", "--json"]).arg(&file);
        command.args(programs.commands());
        finished(command)?;
        let text = fs::read_to_string(&file).map_err(said)?;
        let result: ResultFile = serde_json::from_str(&text).map_err(said)?;
        let workloads = result.experiments.into_iter().flat_map(|one| one.workloads);
        let mut all = workloads.flat_map(|workload| workload.comparisons);
        all.find(|one| one.metric == "wall_s")
            .ok_or_else(|| Failure("furlong compared no wall time".to_owned()))
    }
}

impl Tool for Furlong {
    fn new(runs: u64) -> Result<Self, Failure> {
        Ok(Self { runs })
    }

    fn calls_different(&mut self, programs: &Programs) -> Result<bool, Failure> {
        let interval = self.wall(programs)?.ci95_pct;
        Ok(interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0))
    }

    fn calls_slower(&mut self, programs: &Programs) -> Result<bool, Failure> {
        Ok(self.wall(programs)?.verdict == Verdict::Revert)
    }
}

/// Runs a tool to its end, which must be a good one.
fn finished(mut command: Command) -> Result<(), Failure> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output: Output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure(format!("{tool} cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("").to_owned();
    Err(Failure(format!(
        "{tool} ended with {}: {last}",
        output.status
    )))
}
