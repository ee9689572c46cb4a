//! Result of a replay: `furlong.replay/1`. Fields may be added, never renamed within /1.

use std::fmt;

use serde::Serialize;

use furlong_lab::report::json;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// `furlong.replay/1`.
    pub schema: &'static str,
    /// Name of the trace: a file, or standard input.
    pub trace: String,
    /// Name of its form.
    pub form: String,
    /// Its content, in a sentence.
    pub described: String,
    /// Source of the correct answers.
    pub judge: Judge,
    /// The fault from some line on; the lines before it were run.
    pub fault: Option<String>,
    /// Results by subject, in the order in which they ran.
    pub subjects: Vec<SubjectOutcome>,
}

/// Source of the correct answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// The trace has only requests; the specification answers them.
    Specification,
    /// The trace has the answers of the kernel that it was recorded on.
    Kernel,
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judge::Specification => "the specification",
            Judge::Kernel => "the kernel's",
        })
    }
}

/// The schema's name.
pub(super) const SCHEMA: &str = "furlong.replay/1";

/// Result of one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubjectOutcome {
    /// Its name.
    pub name: String,
    /// The reason if it cannot run the trace.
    pub na: Option<String>,
    /// Operations by kind, in the order of the form.
    pub kinds: Vec<Kind>,
    /// Exact numbers of the form, each with its name.
    pub counts: Vec<Count>,
    /// Answers that were compared with the judge's.
    pub answers: u64,
    /// Answers that differ.
    pub wrong: u64,
    /// The first of them.
    pub first_wrong: Option<String>,
    /// All of them by kind, if the form distinguishes kinds.
    pub differing: Vec<Differing>,
}

/// Operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// Their name.
    pub name: &'static str,
    /// Number of operations in the trace.
    pub operations: u64,
    /// Mean time of an operation.
    pub time_ns_per_op: Option<f64>,
}

/// Answers that are wrong in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// Kind of operation.
    pub operation: &'static str,
    /// The difference.
    pub how: String,
    /// Lines of the trace.
    pub lines: Vec<u32>,
}

/// Maximum number of lines that a message names.
const LINES_SHOWN: usize = 5;

impl fmt::Display for Differing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.lines.len();
        write!(f, "{}: {all} x {}: line", self.operation, self.how)?;
        for line in self.lines.iter().take(LINES_SHOWN) {
            write!(f, " {line}")?;
        }
        f.write_str(if all > LINES_SHOWN { " .." } else { "" })
    }
}

/// An exact number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Count {
    /// Name, with the unit last.
    pub name: &'static str,
    /// Value.
    pub value: f64,
}

impl Outcome {
    /// Wrong answers of all subjects.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.subjects.iter().map(|subject| subject.wrong).sum()
    }

    /// The result as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        json::figures(self)
    }
}
