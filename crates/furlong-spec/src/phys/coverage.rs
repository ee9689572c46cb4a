//! What has occurred: operations by kind, and what came of them.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::AddAssign;
use std::collections::BTreeMap;

use super::operation::{Operation, Outcome};
use crate::Subject;

/// The outcomes, in a word each, that an operation can have.
pub type Cells = &'static [(&'static str, &'static [&'static str])];

/// How often each operation had each outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<(&'static str, &'static str), u64>);

impl Coverage {
    /// Operations, of all kinds and outcomes.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.values().sum()
    }

    /// Those that were refused; refusals are named like types.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let is_refusal = |name: &str| name.starts_with(char::is_uppercase);
        let refused = self.0.iter().filter(|((_, name), _)| is_refusal(name));
        refused.map(|(_, count)| count).sum()
    }

    /// Cells that should have occurred and have not, and cells that have and should not; those of
    /// `seldom` may.
    #[must_use]
    pub fn differs_from(&self, cells: &[Cells], seldom: Cells) -> Vec<String> {
        let listed = |cells: Cells| {
            let each = cells.iter();
            each.flat_map(|(kind, outcomes)| outcomes.iter().map(|one| (*kind, *one)))
        };
        let wanted: Vec<_> = cells.iter().copied().flat_map(listed).collect();
        let seldom: Vec<_> = listed(seldom).collect();
        let missing = wanted.iter().filter(|cell| !self.0.contains_key(cell));
        let missing = missing.map(|(kind, outcome)| format!("{kind} never gave {outcome}"));
        let expected = |cell| wanted.contains(cell) || seldom.contains(cell);
        let other = self.0.keys().filter(|cell| !expected(cell));
        let other = other.map(|(kind, outcome)| format!("{kind} gave {outcome}"));
        missing.chain(other).collect()
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

/// A subject whose outcomes are counted.
pub(super) struct Counted<S> {
    pub(super) subject: S,
    pub(super) coverage: Coverage,
}

impl<S> Counted<S> {
    pub(super) fn new(subject: S) -> Self {
        Self {
            subject,
            coverage: Coverage::default(),
        }
    }
}

impl<S> Subject for Counted<S>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let outcome = self.subject.apply(operation);
        let cell = (operation.kind(), outcome.kind());
        *self.coverage.0.entry(cell).or_default() += 1;
        outcome
    }

    fn check(&self) -> Result<(), String> {
        self.subject.check()
    }
}
