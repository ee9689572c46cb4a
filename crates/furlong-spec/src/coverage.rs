//! Counts of operations by kind and outcome. A stream without a single refusal does not test
//! refusals.
#![forbid(unsafe_code)]

use core::fmt::{self, Debug};
use core::ops::AddAssign;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The name of a kind of operation or of an outcome.
type Name = Cow<'static, str>;

/// A kind of operation and the name of an outcome. Refusals begin with a capital, as types do.
pub type Cell = (&'static str, &'static str);

/// Counts of each kind of operation, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<(Name, Name), u64>);

impl Coverage {
    /// Counts one operation of a kind, with the name of its outcome.
    pub fn note(&mut self, kind: impl Into<Name>, outcome: impl Into<Name>) {
        *self.0.entry((kind.into(), outcome.into())).or_default() += 1;
    }

    /// The number of operations of all kinds and outcomes.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.values().sum()
    }

    /// The number of refused operations.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.count(|name| name.starts_with(char::is_uppercase))
    }

    /// The number of operations with an outcome of such a name.
    pub fn count(&self, is_it: impl Fn(&str) -> bool) -> u64 {
        let outcomes = self.0.iter().filter(|((_, name), _)| is_it(name));
        outcomes.map(|(_, count)| count).sum()
    }

    /// The cells of `wanted` that have not occurred `least` times.
    pub fn missing<K: Into<Name>, O: Into<Name>>(
        &self,
        wanted: impl IntoIterator<Item = (K, O)>,
        least: u64,
    ) -> Vec<String> {
        let cells = wanted
            .into_iter()
            .map(|(kind, name)| (kind.into(), name.into()));
        let missing = cells.filter(|cell| self.0.get(cell) < Some(&least));
        missing
            .map(|(kind, outcome)| format!("{kind} never gave {outcome}"))
            .collect()
    }

    /// The cells that have occurred and are not in `expected`.
    #[must_use]
    pub fn unexpected(&self, expected: &[Cell]) -> Vec<String> {
        let is_other = |(kind, name): &&(Name, Name)| !expected.contains(&(&**kind, &**name));
        let other = self.0.keys().filter(is_other);
        other
            .map(|(kind, outcome)| format!("{kind} gave {outcome}"))
            .collect()
    }

    /// The numbers of operations and of refusals, as text.
    #[must_use]
    pub fn summary(&self) -> String {
        let (operations, refused) = (self.operations(), self.refused());
        format!("{operations} operations, {refused} refused")
    }
}

/// The name of a variant, from its `Debug` text.
#[must_use]
pub fn variant(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.take(1).collect()
}

/// The kind of an operation: the name of its variant in lower case, with hyphens between words.
#[must_use]
pub fn kind(operation: &impl Debug) -> String {
    let mut kind = String::new();
    for letter in variant(operation).chars() {
        if letter.is_uppercase() && !kind.is_empty() {
            kind.push('-');
        }
        kind.push(letter.to_ascii_lowercase());
    }
    kind
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
            match before == &**kind {
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
