//! Shared parts of the tests: a separate home for every test, and checks of what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use furlong_lab::measure::block_order::BlockOrder;
use furlong_lab::model::result::{CONTROL, ResultFile, WorkloadResult};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The experiment that the tests run.
pub(crate) const EXPERIMENT: &str = "tree-order";

/// The command's file.
pub(crate) const FURLONG: &str = env!("CARGO_BIN_EXE_furlong");

/// Longest wait for an event that must happen, on any busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A home that nothing else writes to.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Writes a result.
    pub(crate) fn put(&self, name: &str, result: &ResultFile) {
        self.write(name, serde_json::to_string(result).unwrap());
    }

    /// Lines of a file that commands append to.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A program in this home.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(&self.0)
            .env("HOME", self.0.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("COLUMNS", "100")
            .env_remove("FURLONG_DB")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// Calls git, with an author.
    pub(crate) fn git(&self, line: &str) {
        let mut git = self.command("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        ended(0, &git.args(line.split(' ')).output().unwrap());
    }

    /// The command in this home; what it prints is captured even of a child.
    pub(crate) fn furlong(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(FURLONG);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs to the end, with any exit code.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.furlong(arguments).output().unwrap()
    }

    /// Runs, checks the exit code, and returns stdout and stderr.
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        ended(code, &self.output(arguments))
    }

    /// Checks that it is refused as bad input, in one line with the program's name.
    pub(crate) fn refuses(&self, arguments: &[&str]) -> String {
        let (stdout, stderr) = self.ends(2, arguments);
        assert_eq!(stdout, "");
        let lines: Vec<&str> = stderr.lines().filter(|line| !is_spoiler(line)).collect();
        assert_eq!(lines.len(), 1, "{stderr}");
        assert!(lines[0].starts_with("furlong: "), "{stderr}");
        lines[0].to_owned()
    }

    /// A smoke run with its result.
    pub(crate) fn smoke(&self, more: &[&str]) -> ResultFile {
        let run = words("run tree-order --profile smoke --json result.json");
        self.ends(0, &[&run[..], more].concat());
        read(&self.path("result.json"))
    }
}

/// Checks the exit code, and returns stdout and stderr.
#[track_caller]
pub(crate) fn ended(code: i32, output: &Output) -> (String, String) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Checks that the order of every block is the one that the seed draws.
#[track_caller]
pub(crate) fn is_drawn(workload: &WorkloadResult, seed: u64) {
    let mut runners: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
    runners.push(CONTROL);
    assert_eq!(workload.order.len(), workload.blocks.len());
    for (order, number) in workload.order.iter().zip(1..) {
        let drawn = BlockOrder::new(seed, EXPERIMENT, &workload.name, number, runners.len());
        let drawn: Vec<&str> = drawn.order.iter().map(|runner| runners[*runner]).collect();
        assert_eq!(*order, drawn, "block {number} of {}", workload.name);
    }
}

/// Sends a signal.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The words of a command line without quotes.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Checks that a text has all these parts.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

/// Waits for an event that must happen.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// True for a warning about the machine or the build, which no test is about.
pub(crate) fn is_spoiler(line: &str) -> bool {
    line.starts_with("warning: this furlong was built without")
        || line.starts_with("warning: other programs are running")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn read(path: &Path) -> ResultFile {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
