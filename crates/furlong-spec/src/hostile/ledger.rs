//! A count of distinct attacks.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Every third of the states, the first included, for the checks of a commit; all of them if the
/// environment has `FURLONG_HOSTILE=full`. Which ones is no accident: a failure comes again.
pub fn thinned<T>(states: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    states.into_iter().step_by(thinning())
}

fn thinning() -> usize {
    match env::var("FURLONG_HOSTILE") {
        Ok(form) if form == "full" => 1,
        _ => 3,
    }
}

/// Distinct pairs of attack and state, by public type. An attack is an operation, its arguments,
/// and the call that panics or the value that is forgotten. A state is the contents of the
/// structure before the attack.
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

    /// Records an attack on `of`, a public type's path from its module (`"maple::Displaced"`).
    pub fn note(&mut self, of: &'static str, place: impl Hash, state: impl Hash) {
        let pair = (digest(place), digest(state));
        self.seen.entry(of).or_default().insert(pair);
    }

    /// The number of distinct pairs of all types.
    #[must_use]
    pub fn total(&self) -> usize {
        self.seen.values().map(HashSet::len).sum()
    }

    /// Prints a line for each type, which `ci/hostile.sh` adds up, and checks the total.
    ///
    /// # Panics
    /// If there were fewer than `at_least` distinct pairs, or a fourth of them in the short form of
    /// [`thinned`]: the test would do less than it claims.
    #[expect(
        clippy::print_stdout,
        reason = "the script that runs the tests reads it"
    )]
    pub fn report(&self, at_least: usize) {
        for (of, pairs) in &self.seen {
            println!("hostile: {of} {}", pairs.len());
        }
        let total = self.total();
        let at_least = if thinning() > 1 {
            at_least / 4
        } else {
            at_least
        };
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
