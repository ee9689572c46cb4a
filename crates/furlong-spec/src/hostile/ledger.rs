//! The count of distinct attacks.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The distinct pairs of a place (the attack: which operation, which argument, which call panics or
/// which value is forgotten) and a state (the contents of the structure before it), by public type.
#[derive(Debug, Default)]
pub struct Ledger {
    seen: BTreeMap<&'static str, HashSet<(u64, u64)>>,
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes an attack on `of`, a public type's path from its module (`"maple::Displaced"`).
    pub fn note(&mut self, of: &'static str, place: impl Hash, state: impl Hash) {
        let pair = (digest(place), digest(state));
        self.seen.entry(of).or_default().insert(pair);
    }

    /// The number of distinct pairs of all types.
    #[must_use]
    pub fn total(&self) -> usize {
        self.seen.values().map(HashSet::len).sum()
    }

    /// Prints a line a type, which `ci/hostile.sh` adds up, and holds the test to its number.
    ///
    /// # Panics
    /// If there were fewer than `at_least` distinct pairs: the test would have done less than it
    /// says.
    #[expect(
        clippy::print_stdout,
        reason = "the script that runs the tests reads it"
    )]
    pub fn report(&self, at_least: usize) {
        for (of, pairs) in &self.seen {
            println!("hostile: {of} {}", pairs.len());
        }
        let total = self.total();
        assert!(
            total >= at_least,
            "{total} distinct attacks, {at_least} wanted"
        );
    }
}

fn digest(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
