//! Counts of outcomes. A stream without a single refusal does not test refusals.

use std::collections::BTreeMap;
use std::fmt;

use furlong::vmspace::{
    AdviseError, BrkError, FaultError, MapError, ProtectError, RemapError, UnmapError, UpdateError,
};

use super::{Operation, Outcome, Refusal};

/// Counts of each refusal, and of each operation that had an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    operations: u64,
    refused: BTreeMap<Refusal, u64>,
    done: BTreeMap<&'static str, u64>,
}

/// The operations that can have an effect.
const VERBS: [&str; 13] = [
    "map", "map over", "unmap", "protect", "advise", "update", "remap", "brk", "fault", "find",
    "fork", "clear", "areas",
];

impl Coverage {
    /// Counts one outcome.
    pub fn note(&mut self, operation: &Operation, outcome: &Outcome) {
        // These two follow every operation, to compare the whole state.
        let compares = matches!(operation, Operation::Areas | Operation::Usage);
        self.operations += u64::from(!compares);
        let verb = match (operation, outcome) {
            (_, Outcome::Refused(refusal, _)) => {
                *self.refused.entry(*refusal).or_default() += 1;
                return;
            }
            (Operation::Map(_), Outcome::At(_, gone)) if !gone.is_empty() => "map over",
            (Operation::Map(_), _) => "map",
            (Operation::Unmap(..), Outcome::Done(gone)) if !gone.is_empty() => "unmap",
            (Operation::Protect(..), _) => "protect",
            (Operation::Advise(..), _) => "advise",
            (Operation::Update(..), _) => "update",
            (Operation::Remap(_), _) => "remap",
            (Operation::Brk(_), _) => "brk",
            (Operation::Fault(..), _) => "fault",
            (Operation::Find(_), Outcome::Area(Some(_))) => "find",
            (Operation::Fork, Outcome::Areas(areas)) if !areas.is_empty() => "fork",
            (Operation::Clear, Outcome::Done(gone)) if !gone.is_empty() => "clear",
            (Operation::Areas, Outcome::Areas(areas)) if !areas.is_empty() => "areas",
            _ => return,
        };
        *self.done.entry(verb).or_default() += 1;
    }

    /// The number of operations counted, without those that only compare the state.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The number of refused operations.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.values().sum()
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        for (refusal, count) in &other.refused {
            *self.refused.entry(*refusal).or_default() += count;
        }
        for (verb, count) in &other.done {
            *self.done.entry(verb).or_default() += count;
        }
    }

    /// The number of times that a refusal occurred.
    #[must_use]
    pub fn refusals(&self, refusal: Refusal) -> u64 {
        self.refused.get(&refusal).copied().unwrap_or(0)
    }

    /// The cells with fewer than `least` occurrences, except lack of memory.
    #[must_use]
    pub fn missing(&self, least: u64) -> Vec<String> {
        let seen = |refusal: &Refusal| self.refusals(*refusal) < least;
        let refusals = every_refusal().into_iter().filter(seen);
        let verbs = VERBS
            .iter()
            .filter(|verb| self.done.get(*verb) < Some(&least));
        let refusals = refusals.map(|refusal| format!("{refusal:?}"));
        refusals.chain(verbs.map(ToString::to_string)).collect()
    }
}

impl fmt::Display for Coverage {
    /// One line for each operation, and one for each refusal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (verb, count) in &self.done {
            writeln!(f, "{verb}: {count}")?;
        }
        for (refusal, count) in &self.refused {
            writeln!(f, "{refusal:?}: {count}")?;
        }
        Ok(())
    }
}

/// The refusals for lack of memory.
pub const NO_MEMORY: [Refusal; 8] = [
    Refusal::Map(MapError::NoMemory),
    Refusal::Unmap(UnmapError::NoMemory),
    Refusal::Protect(ProtectError::NoMemory),
    Refusal::Advise(AdviseError::NoMemory),
    Refusal::Update(UpdateError::NoMemory),
    Refusal::Remap(RemapError::NoMemory),
    Refusal::Brk(BrkError::NoMemory),
    Refusal::Fault(FaultError::NoMemory),
];

/// All refusals except lack of memory.
fn every_refusal() -> Vec<Refusal> {
    let all = MapError::ALL.iter().copied().map(Refusal::Map);
    let all = all.chain(UnmapError::ALL.iter().copied().map(Refusal::Unmap));
    let all = all.chain(ProtectError::ALL.iter().copied().map(Refusal::Protect));
    let all = all.chain(AdviseError::ALL.iter().copied().map(Refusal::Advise));
    let all = all.chain(UpdateError::ALL.iter().copied().map(Refusal::Update));
    let all = all.chain(RemapError::ALL.iter().copied().map(Refusal::Remap));
    let all = all.chain(BrkError::ALL.iter().copied().map(Refusal::Brk));
    let all = all.chain(FaultError::ALL.iter().copied().map(Refusal::Fault));
    all.filter(|refusal| !NO_MEMORY.contains(refusal)).collect()
}
