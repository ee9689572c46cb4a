//! The tools under comparison, each with the rule for judging its figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use tempfile::NamedTempFile;

use super::programs::{NOTHING, Programs, SHELL};
use crate::process::finished;
use furlong_lab::doctor::DuetCheck;
use furlong_lab::measure::launch::launcher::{Launcher, Task};
use furlong_lab::model::Failure;
use furlong_lab::model::result::{Direction, Verdict, WorkloadResult};
use furlong_lab::record::build;
use furlong_lab::report::json;
use furlong_stats::{student, welch};

/// A tool that compares two commands.
pub(super) trait Tool: Sized {
    /// Makes the tool.
    fn new(amount: Amount) -> Result<Self, Failure>;

    /// Compares two programs.
    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure>;

    /// Mean time of a program that does nothing, as the tool reports it, in microseconds.
    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure>;
}

/// The amount of measuring in a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    /// Runs of each command.
    Runs(u64),
    /// As much as a verdict takes, within this time.
    UntilVerdict(Duration),
}

impl Amount {
    /// Returns the number of runs.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn runs(self) -> Result<u64, Failure> {
        match self {
            Self::Runs(runs) => Ok(runs),
            Self::UntilVerdict(_) => Err(Failure("this tool needs a number of runs".to_owned())),
        }
    }
}

/// A tool's answer about two programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// It calls the two different.
    pub(super) different: bool,
    /// It calls the second one slower.
    pub(super) slower: bool,
    /// Half the width of the interval of the difference, per cent, if it gives one.
    pub(super) half_width_pct: Option<f64>,
}

/// Significance level of a test.
const ALPHA: f64 = 0.05;

/// hyperfine, with its times judged by Welch's test.
pub(super) struct Hyperfine {
    runs: u64,
}

/// JSON export of hyperfine.
#[derive(Deserialize)]
struct Exported {
    results: Vec<Times>,
}

#[derive(Deserialize)]
struct Times {
    times: Vec<f64>,
}

impl Hyperfine {
    /// The reason if hyperfine cannot be used, otherwise `None`.
    pub(super) fn missing() -> Option<String> {
        let how = "hyperfine is not installed (on Debian: apt-get install hyperfine)";
        (!answers("hyperfine", &["--version"])).then(|| how.to_owned())
    }

    fn times<const N: usize>(&self, commands: [String; N]) -> Result<[Vec<f64>; N], Failure> {
        let file = NamedTempFile::new().map_err(Failure::of)?;
        let mut command = Command::new("hyperfine");
        command.args(["-N", "--style", "none", "--runs", &self.runs.to_string()]);
        command.arg("--export-json").arg(file.path()).args(commands);
        finished(&mut command)?;
        let text = fs::read_to_string(file.path()).map_err(Failure::of)?;
        // By way of a value: a parser of text would be compiled here, with optimisation.
        let exported: serde_json::Value = text.parse().map_err(Failure::of)?;
        let exported: Exported = serde_json::from_value(exported).map_err(Failure::of)?;
        let times: Vec<Vec<f64>> = exported.results.into_iter().map(|one| one.times).collect();
        times
            .try_into()
            .map_err(|_| Failure(format!("hyperfine did not export {N} commands")))
    }
}

impl Tool for Hyperfine {
    fn new(amount: Amount) -> Result<Self, Failure> {
        let runs = amount.runs()?;
        Ok(Self { runs })
    }

    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure> {
        let [a, b] = self.times(programs.commands())?;
        let test = welch(&a, &b).filter(|test| test.p < ALPHA);
        Ok(Answer {
            different: test.is_some(),
            slower: test.is_some_and(|test| test.t > 0.0),
            half_width_pct: None,
        })
    }

    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure> {
        let [times] = self.times([NOTHING.to_owned()])?;
        Ok(mean_us(&times))
    }
}

/// All runs of one program, then all of the other, judged as poop judges.
pub(super) struct BlockOrder {
    runs: u64,
    launcher: Launcher,
}

/// poop calls a difference significant if its interval lies wholly beyond this many per cent.
const POOP_PCT: f64 = 1.0;

impl BlockOrder {
    /// Times of successive runs of a program, in seconds.
    fn times(&self, task: &Task) -> Result<Vec<f64>, Failure> {
        let run = |_| self.launcher.run(task, None).map_err(Failure::of);
        let wall = |_| Ok(run(())?.usage.wall_s);
        (0..self.runs).map(wall).collect()
    }
}

impl Tool for BlockOrder {
    fn new(amount: Amount) -> Result<Self, Failure> {
        Ok(Self {
            runs: amount.runs()?,
            launcher: Launcher::new().map_err(Failure::of)?,
        })
    }

    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure> {
        let tasks = programs
            .scripts()
            .map(|script| Task::new(Path::new(SHELL), &[&script]));
        let [a, b] = [self.times(&tasks[0])?, self.times(&tasks[1])?];
        let found = student(&a, &b, 1.0 - ALPHA);
        let found = found.ok_or_else(|| Failure("too few runs for a difference".to_owned()))?;
        let (middle, half) = (found.difference_pct, found.plus_minus_pct);
        Ok(Answer {
            different: middle.abs() - half > POOP_PCT,
            slower: middle - half > POOP_PCT,
            half_width_pct: None,
        })
    }

    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure> {
        self.times(&Task::new(Path::new(NOTHING), &[]))
            .map(|times| mean_us(&times))
    }
}

/// `furlong compare`.
pub(super) struct Furlong {
    amount: Amount,
}

/// The metric that a comparison is judged by.
const WALL: &str = "wall_s";

/// The margin for finding the slower program.
const MARGIN_PCT: &str = "0.5";

impl Furlong {
    /// Compares two commands, with these options besides, and returns the comparison's only
    /// workload.
    fn compared(&self, commands: &[String; 2], more: &[&str]) -> Result<WorkloadResult, Failure> {
        let file = NamedTempFile::new().map_err(Failure::of)?;
        let mut command = Command::new(build::executable().map_err(Failure::of)?);
        command.args(["compare", "--quiet", "--db", "none", "--html", "none"]);
        match self.amount {
            Amount::Runs(runs) => {
                command.args(["--blocks", &runs.to_string(), "--margin", MARGIN_PCT]);
            }
            Amount::UntilVerdict(limit) => {
                command.args(["--max-time", &limit.as_secs_f64().to_string()]);
            }
        }
        command.args(["--names", "a,b", "--json"]).arg(file.path());
        command.args(more).args(commands);
        finished(&mut command)?;
        let text = fs::read_to_string(file.path()).map_err(Failure::of)?;
        let result = json::read(&text).map_err(Failure::of)?;
        let mut workloads = result.experiments.into_iter().flat_map(|one| one.workloads);
        workloads
            .next()
            .ok_or_else(|| Failure("furlong compared nothing".to_owned()))
    }
}

impl Furlong {
    fn answer(&self, programs: &Programs, more: &[&str]) -> Result<Answer, Failure> {
        let compared = self.compared(&programs.commands(), more)?;
        let mut all = compared.comparisons.into_iter();
        let wall = all.find(|one| one.metric == WALL);
        let wall = wall.ok_or_else(|| Failure("furlong compared no wall time".to_owned()))?;
        let interval = wall.ci95_pct;
        let is_apart = interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
        Ok(Answer {
            different: match self.amount {
                Amount::Runs(_) => is_apart,
                Amount::UntilVerdict(_) => {
                    matches!(wall.verdict, Verdict::Keep | Verdict::Revert)
                }
            },
            // Its sentence begins with "slower" as soon as the direction is known.
            slower: wall.direction == Some(Direction::Worse),
            half_width_pct: interval.map(|[low, high]| (high - low) / 2.0),
        })
    }
}

impl Tool for Furlong {
    fn new(amount: Amount) -> Result<Self, Failure> {
        Ok(Self { amount })
    }

    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure> {
        self.answer(programs, &[])
    }

    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure> {
        let workload = self.compared(&[NOTHING, NOTHING].map(str::to_owned), &[])?;
        let walls = workload.arms.iter().filter_map(|arm| arm.samples.get(WALL));
        let walls: Vec<f64> = walls.flatten().flatten().copied().collect();
        Ok(mean_us(&walls))
    }
}

/// `furlong compare --duet`.
pub(super) struct Duet(Furlong);

impl Duet {
    /// The reason if duets are not known to be fair on this machine, otherwise `None`.
    pub(super) fn missing() -> Option<String> {
        match DuetCheck::known().map(|check| check.refusal()) {
            Some(refusal) => refusal,
            None => Some("`furlong doctor --duet` has not been called here".to_owned()),
        }
    }
}

impl Tool for Duet {
    /// As long as so many blocks of three runs: two runs at once, twice, take the time of two.
    fn new(amount: Amount) -> Result<Self, Failure> {
        let runs = amount.runs()? * 3 / 2;
        Furlong::new(Amount::Runs(runs)).map(Self)
    }

    fn compare(&mut self, programs: &Programs) -> Result<Answer, Failure> {
        self.0.answer(programs, &["--duet"])
    }

    fn spawn_to_exit_us(&mut self) -> Result<f64, Failure> {
        self.0.spawn_to_exit_us()
    }
}

/// Mean of times in seconds, as microseconds.
fn mean_us(times_s: &[f64]) -> f64 {
    1e6 * times_s.iter().sum::<f64>() / times_s.len() as f64
}

/// True if a program is installed and succeeds with these arguments.
pub(super) fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
