//! A test's environment for furlong, and helpers for its output.
#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use furlong_lab::model::result::{ArmResult, ResultFile, WorkloadResult};

/// A separate environment of a test: its database, its files.
pub(crate) struct Place(pub(crate) tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `furlong compare` with its database here, and without the user's settings.
    pub(crate) fn compare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_furlong"));
        command
            .arg("compare")
            .args(arguments)
            .current_dir(self.0.path());
        command
            .env("HOME", self.0.path())
            .env_remove("XDG_DATA_HOME");
        command
            .env("FURLONG_DB", self.path("runs.db"))
            .env("NO_COLOR", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.compare(arguments).output().expect("furlong starts")
    }

    /// The result of a comparison that must succeed.
    pub(crate) fn result(&self, arguments: &[&str]) -> ResultFile {
        let output = self.run(&[arguments, &["--quiet", "--json", "r.json"]].concat());
        assert!(output.status.success(), "{}", said(&output));
        self.read("r.json")
    }

    pub(crate) fn read(&self, name: &str) -> ResultFile {
        let text = fs::read_to_string(self.path(name)).expect("a result");
        serde_json::from_str(&text).expect("a result")
    }

    /// Lines of a file that commands append to.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// furlong's standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The exit code and the last line of standard error.
pub(crate) fn refusal(output: &Output) -> (Option<i32>, String) {
    let text = said(output);
    let last = text.lines().last().unwrap_or_default();
    (
        output.status.code(),
        last.strip_prefix("furlong: ").unwrap_or(last).to_owned(),
    )
}

pub(crate) fn only(result: &ResultFile) -> &WorkloadResult {
    &result.experiments[0].workloads[0]
}

/// The values of a metric; none may be missing.
pub(crate) fn values(arm: &ArmResult, metric: &str) -> Vec<f64> {
    arm.samples[metric]
        .iter()
        .map(|value| value.expect("a value"))
        .collect()
}
