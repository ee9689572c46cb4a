//! What came of a replay: `furlong.replay/1`. Fields may be added, never renamed within /1.
#![forbid(unsafe_code)]

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
    /// What is wrong with it from some line on; what stands before that was run.
    pub fault: Option<String>,
    /// By subject, in the order in which they ran.
    pub subjects: Vec<SubjectOutcome>,
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
    /// Answers that were compared with the specification's.
    pub answers: u64,
    /// Those that were not what it says.
    pub wrong: u64,
    /// The first of them.
    pub first_wrong: Option<String>,
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
