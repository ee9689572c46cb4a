//! What came of a replay: `furlong.replay/1`. Fields may be added, never renamed within /1.
#![forbid(unsafe_code)]

use std::fmt;

use serde::Serialize;

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// `furlong.replay/1`.
    pub schema: &'static str,
    /// What was run: a file, or standard input.
    pub trace: String,
    /// What form it is of.
    pub form: String,
    /// In a sentence, what it asks for.
    pub described: String,
    /// Whose answers are the right ones.
    pub judge: Judge,
    /// What is wrong with it from some line on; what stands before that was run.
    pub fault: Option<String>,
    /// By subject, in the order in which they ran.
    pub subjects: Vec<SubjectOutcome>,
}

/// Whose answers are the right ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// The trace asks; the specification answers.
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

/// What came of it with one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubjectOutcome {
    /// Its name.
    pub name: String,
    /// Why it cannot run the trace, if so.
    pub na: Option<String>,
    /// Operations by kind, in the order of the form.
    pub kinds: Vec<Kind>,
    /// Exact numbers of the form's own, each with its name.
    pub counts: Vec<Count>,
    /// Answers that were compared with the judge's.
    pub answers: u64,
    /// Those that are not the same.
    pub wrong: u64,
    /// The first of them.
    pub first_wrong: Option<String>,
    /// All of them by kind, where the form tells kinds apart.
    pub differing: Vec<Differing>,
}

/// Operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// What they do.
    pub name: &'static str,
    /// How many the trace has.
    pub operations: u64,
    /// What one of them took on average.
    pub time_ns_per_op: Option<f64>,
}

/// Answers that are wrong in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// Of which kind of operation.
    pub operation: &'static str,
    /// How they differ.
    pub how: String,
    /// In which lines of the trace.
    pub lines: Vec<u32>,
}

/// Lines of which a message names no more.
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
    /// What is counted, its unit last.
    pub name: &'static str,
    /// How much there is.
    pub value: f64,
}

impl Outcome {
    /// Wrong answers of all subjects.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.subjects.iter().map(|subject| subject.wrong).sum()
    }

    /// The result as a program reads it.
    #[must_use]
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("its names are texts and its numbers finite") + "\n"
    }
}
