//! A count of distinct attacks.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A quarter of the states, the first included, for the checks of a commit; all of them if the
/// environment has `FURLONG_HOSTILE=full`. The same ones each time, so that a failure comes again.
pub fn thinned<T>(states: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    // Multiples of the golden ratio spread evenly, but favour no remainder of a division, on which
    // a test may choose what it does.
    let is_chosen = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) <= u64::MAX / 4;
    let all = is_full();
    let places = (0..).zip(states);
    places
        .filter(move |(place, _)| all || is_chosen(*place))
        .map(|(_, state)| state)
}

fn is_full() -> bool {
    env::var("FURLONG_HOSTILE").is_ok_and(|form| form == "full")
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
    /// If there were fewer than `at_least` distinct pairs, or a sixth of them where the states are
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
        let at_least = at_least / if is_full() { 1 } else { 6 };
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
