//! Real programs, with a library preloaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use super::{inputs, redis};
use crate::malloc::{Library, environment, file, variables};
use furlong_lab::hash::fnv1a;
use furlong_lab::measure::launch::command::find;
use furlong_lab::measure::launch::finished::{Ending, Finished, Usage};
use furlong_lab::measure::launch::launcher::{Launcher, Output, Task};
use furlong_lab::model::{Failure, Outcome, Request};
use serde::Deserialize;

/// Operations that one run of a program counts as: a request for fewer is one run.
const OPERATIONS: u64 = 1 << 20;

/// A real program as a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Real {
    /// JSON, dictionaries, sorting.
    #[serde(rename = "python3")]
    Python,
    /// The same, with every object allocated by malloc.
    #[serde(rename = "python3-malloc")]
    PythonMalloc,
    /// Hashes, arrays, sorting.
    Perl,
    /// A database in memory: rows, an index, a join, a deletion.
    #[serde(rename = "sqlite3")]
    Sqlite,
    /// A C program of many functions, compiled.
    Gcc,
    /// The history of a repository, with differences.
    Git,
    /// A server, under its own benchmark.
    Redis,
}

/// Command line and environment of a program.
pub(super) struct Call {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) input: PathBuf,
    pub(super) settings: Vec<(&'static str, &'static str)>,
}

impl Real {
    /// Required programs, with the packages that contain them.
    fn needs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Python | Self::PythonMalloc => &[("python3", "python3")],
            Self::Perl => &[("perl", "perl")],
            Self::Sqlite => &[("sqlite3", "sqlite3")],
            Self::Gcc => &[("gcc", "gcc")],
            Self::Git => &[("git", "git")],
            Self::Redis => &[
                ("redis-server", "redis-server"),
                ("redis-benchmark", "redis-tools"),
                ("redis-cli", "redis-tools"),
            ],
        }
    }

    /// A hint at how to install a missing program, or `None` if none is missing.
    pub(super) fn missing(self) -> Option<String> {
        let mut needs = self.needs().iter();
        let missing = needs.find(|(program, _)| installed(program).is_err())?;
        Some(format!("run `apt-get install {}`", missing.1))
    }

    /// Runs it as often as requested.
    pub(super) fn run(self, library: &Library, request: &Request) -> Result<Outcome, Failure> {
        let library = file(library)?;
        let work = request.workload.number("work", 0..=u64::MAX)?;
        let home = tempfile::tempdir().map_err(Failure::of)?;
        let launcher = Launcher::new().map_err(Failure::of)?;
        let (mut cpu_s, mut wall_s, mut rss_kib, mut digest) = (0.0, 0.0, 0, 0);
        let runs = request.operations.div_ceil(OPERATIONS).max(1);
        let call = (self != Self::Redis).then(|| self.call(home.path(), work));
        let call = call.transpose()?;
        for _ in 0..runs {
            let (usage, answer) = match &call {
                Some(call) => once(&launcher, call, &library, home.path())?,
                None => redis::once(&launcher, &library, home.path(), work)?,
            };
            cpu_s += usage.user_s + usage.sys_s;
            wall_s += usage.wall_s;
            rss_kib = rss_kib.max(usage.maxrss_kib);
            digest = answer;
        }
        Ok(Outcome {
            metrics: figures(cpu_s, wall_s, rss_kib),
            operations: runs * OPERATIONS,
            elapsed_s: wall_s,
            digest,
        })
    }

    /// Makes its input and its command line.
    fn call(self, home: &Path, work: u64) -> Result<Call, Failure> {
        let program = installed(self.needs()[0].0)?;
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            fs::write(&path, text).map_err(Failure::of).map(|()| path)
        };
        let mut call = Call {
            program,
            arguments: vec![],
            input: "/dev/null".into(),
            settings: vec![],
        };
        match self {
            Self::Python | Self::PythonMalloc => {
                let script = write("work.py", inputs::PYTHON)?;
                call.arguments = vec!["-I".into(), script.into(), work.to_string().into()];
                call.settings.push(("PYTHONHASHSEED", "0"));
                if self == Self::PythonMalloc {
                    // With -I, Python reads no environment variables, so -s replaces it here.
                    call.arguments[0] = "-s".into();
                    call.settings.push(("PYTHONMALLOC", "malloc"));
                }
            }
            Self::Perl => {
                let script = write("work.pl", inputs::PERL)?;
                call.arguments = vec![script.into(), work.to_string().into()];
                call.settings.push(("PERL_HASH_SEED", "0"));
            }
            Self::Sqlite => {
                call.input = write("work.sql", &inputs::sql(work))?;
                call.arguments = vec!["-batch".into(), ":memory:".into()];
            }
            Self::Gcc => {
                let source = write("work.c", &inputs::c(work))?;
                let arguments: [OsString; 5] = [
                    "-O1".into(),
                    "-S".into(),
                    "-o".into(),
                    "-".into(),
                    source.into(),
                ];
                call.arguments = arguments.into();
            }
            Self::Git => {
                inputs::repository(&call.program, home, work)?;
                let arguments = ["log", "-p", "--stat", "--no-color"].map(OsString::from);
                call.arguments = vec!["-C".into(), home.join("repository").into()];
                call.arguments.extend(arguments);
                call.settings.extend(inputs::GIT_ALONE);
            }
            Self::Redis => return Err(Failure("redis is a server".to_owned())),
        }
        Ok(call)
    }
}

/// The metrics that all workloads report.
pub(super) fn figures(cpu_s: f64, wall_s: f64, rss_kib: u64) -> BTreeMap<String, f64> {
    let figures = [
        ("cpu_s", cpu_s),
        ("wall_s", wall_s),
        ("peak_rss_kib", rss_kib as f64),
    ];
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Finds a program. The system's own takes precedence: one in a home directory may be a script that
/// selects a version.
pub(super) fn installed(name: &str) -> Result<PathBuf, Failure> {
    let own = Path::new("/usr/bin").join(name);
    if own.is_file() {
        return Ok(own);
    }
    find(name).map_err(Failure::of)
}

/// A task with a library preloaded.
pub(super) fn task(call: &Call, library: &Path, output: PathBuf) -> Task {
    let mut task = Task::new(&call.program, &[]);
    task.arguments.extend(call.arguments.iter().cloned());
    task.environment = environment(variables(library, &call.settings));
    task.input.clone_from(&call.input);
    task.output = Output::File(output);
    task
}

/// Runs a program to its end. Returns the resources used and a digest of its output.
fn once(
    launcher: &Launcher,
    call: &Call,
    library: &Path,
    home: &Path,
) -> Result<(Usage, u64), Failure> {
    let output = home.join("said");
    let finished = launcher.run(&task(call, library, output.clone()), None);
    let usage = succeeded(call.program.display(), finished)?;
    let text = fs::read(&output).map_err(Failure::of)?;
    if text.is_empty() {
        return Err(Failure(format!(
            "{} printed nothing",
            call.program.display()
        )));
    }
    Ok((usage, fnv1a(&text)))
}

/// The resources used by a program, which must have succeeded.
pub(super) fn succeeded(
    program: impl Display,
    finished: Result<Finished, impl Display>,
) -> Result<Usage, Failure> {
    let finished = finished.map_err(Failure::of)?;
    if finished.ending == Ending::Exited(0) {
        return Ok(finished.usage);
    }
    let last = finished.last_error_line().unwrap_or_default();
    Err(Failure(format!("{program}: {}: {last}", finished.ending)))
}
