//! Counts of operations by kind and outcome. A stream without a single refusal does not test
//! refusals.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::AddAssign;
use std::collections::BTreeMap;

/// A kind of operation and the name of an outcome. Refusals begin with a capital, as types do.
pub type Cell = (&'static str, &'static str);

/// Counts of each kind of operation, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<Cell, u64>);

impl Coverage {
    /// Counts one operation.
    pub fn note(&mut self, cell: Cell) {
        *self.0.entry(cell).or_default() += 1;
    }

    /// The number of operations of all kinds and outcomes.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.values().sum()
    }

    /// The number of refused operations.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let is_refusal = |name: &str| name.starts_with(char::is_uppercase);
        let refused = self.0.iter().filter(|((_, name), _)| is_refusal(name));
        refused.map(|(_, count)| count).sum()
    }

    /// The cells of `wanted` that have not occurred.
    pub fn missing(&self, wanted: impl IntoIterator<Item = Cell>) -> Vec<String> {
        let missing = wanted.into_iter().filter(|cell| !self.0.contains_key(cell));
        missing
            .map(|(kind, outcome)| format!("{kind} never gave {outcome}"))
            .collect()
    }

    /// The cells that have occurred and are not in `expected`.
    #[must_use]
    pub fn unexpected(&self, expected: &[Cell]) -> Vec<String> {
        let other = self.0.keys().filter(|cell| !expected.contains(cell));
        other
            .map(|(kind, outcome)| format!("{kind} gave {outcome}"))
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

/// One line for each kind of operation.
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
