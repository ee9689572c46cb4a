//! Shared parts of the command's tests: a separate home for every test.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use furlong_lab::model::result::ResultFile;
use tempfile::TempDir;

/// The experiment that the tests run.
pub(crate) const EXPERIMENT: &str = "tree-order";

/// A home that nothing else writes to.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn furlong(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("furlong").unwrap();
        command.args(arguments).current_dir(self.0.path());
        command
            .env("XDG_DATA_HOME", self.path("data"))
            .env("COLUMNS", "100");
        command.env_remove("FURLONG_DB").env_remove("NO_COLOR");
        command
    }

    /// Runs to the end, with any exit code.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.furlong(arguments).output().unwrap()
    }

    /// Runs, checks the exit code, and returns stdout and stderr.
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.output(arguments);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}\n{stdout}\n{stderr}"
        );
        (stdout, stderr)
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
        let mut arguments = vec![
            "run",
            EXPERIMENT,
            "--profile",
            "smoke",
            "--json",
            "result.json",
        ];
        arguments.extend(more);
        self.ends(0, &arguments);
        read(&self.path("result.json"))
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
