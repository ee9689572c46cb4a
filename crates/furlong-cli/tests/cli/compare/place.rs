//! Comparisons in a home, and helpers for their results.

use std::process::{Command, Output};

use furlong_lab::model::result::{ArmResult, ResultFile, WorkloadResult};

use crate::lab::{Home, ended, read, text};

impl Home {
    /// `furlong compare`.
    pub(crate) fn compare(&self, arguments: &[&str]) -> Command {
        self.furlong(&[&["compare"], arguments].concat())
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.compare(arguments).output().unwrap()
    }

    /// Runs, checks the exit code, and returns the last line of standard error.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        failed(code, &self.run(arguments))
    }

    /// The result of a comparison that must succeed.
    pub(crate) fn result(&self, arguments: &[&str]) -> ResultFile {
        let quiet = ["--quiet", "--json", "r.json"];
        ended(0, &self.run(&[arguments, &quiet].concat()));
        read(&self.path("r.json"))
    }
}

/// Checks the exit code of a failure, and returns the last line of standard error.
#[track_caller]
pub(crate) fn failed(code: i32, output: &Output) -> String {
    let (_, said) = ended(code, output);
    let last = said.lines().last().unwrap_or_default();
    last.strip_prefix("furlong: ").unwrap_or(last).to_owned()
}

/// furlong's standard error.
pub(crate) fn said(output: &Output) -> String {
    text(&output.stderr)
}

pub(crate) fn only(result: &ResultFile) -> &WorkloadResult {
    &result.experiments[0].workloads[0]
}

/// The values of a metric; none may be missing.
pub(crate) fn values(arm: &ArmResult, metric: &str) -> Vec<f64> {
    let samples = arm.samples[metric].iter();
    samples.map(|value| value.unwrap()).collect()
}
