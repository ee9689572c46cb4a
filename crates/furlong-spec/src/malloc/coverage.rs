//! Which answers were seen: a stream that frees nothing of another thread's has not shown that to
//! be right.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::AddAssign;
use std::collections::BTreeMap;

use super::operation::{Operation, Outcome};

/// How often each kind of operation had each kind of outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<(&'static str, &'static str), u64>);

/// What every stream of some length shows.
const ALWAYS: &[(&str, &str)] = &[
    ("allocate", "block"),
    ("allocate", "refused"),
    ("allocate aligned", "block"),
    ("allocate zeroed", "block"),
    ("begin", "done"),
    ("become", "done"),
    ("count", "counted"),
    ("end", "done"),
    ("follow", "done"),
    ("fork", "done"),
    ("free", "own"),
    ("free", "another's"),
    ("free", "an ended thread's"),
    ("free", "without a heap"),
    ("free sized", "own"),
    ("look", "intact"),
    ("resize", "moved"),
    ("resize", "stayed"),
    ("trim", "done"),
];

impl Coverage {
    /// Notes one.
    pub(super) fn add(&mut self, operation: &Operation, outcome: &'static str) {
        *self.0.entry((operation.name(), outcome)).or_default() += 1;
    }

    /// Operations of all kinds.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.values().sum()
    }

    /// Those that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let refused = self
            .0
            .iter()
            .filter(|((_, outcome), _)| *outcome == "refused");
        refused.map(|(_, count)| count).sum()
    }

    /// What should have occurred and has not; where memory may be short also that.
    #[must_use]
    pub fn gaps(&self, short: bool) -> Vec<String> {
        let more: &[_] = if short { &[("resize", "refused")] } else { &[] };
        let wanted = ALWAYS.iter().chain(more);
        let missing = wanted.filter(|cell| !self.0.contains_key(cell));
        missing
            .map(|(kind, outcome)| format!("{kind} never gave {outcome}"))
            .collect()
    }
}

impl AddAssign for Coverage {
    fn add_assign(&mut self, other: Self) {
        for (cell, count) in other.0 {
            *self.0.entry(cell).or_default() += count;
        }
    }
}

/// A line for each kind of operation.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for ((kind, outcome), count) in &self.0 {
            match before == *kind {
                true => f.write_str(",")?,
                false if before.is_empty() => write!(f, "{kind}:")?,
                false => write!(f, "\n{kind}:")?,
            }
            write!(f, " {count} {outcome}")?;
            before = kind;
        }
        Ok(())
    }
}

/// An outcome in a word, where the operation says no more.
pub(super) const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Idle => "idle",
        Outcome::Refused => "refused",
        Outcome::Block { .. } => "block",
        Outcome::Intact(_) => "intact",
        Outcome::Counted { .. } => "counted",
    }
}
