//! Workloads: their kinds, as the plan names them, and their parameters.

use furlong_spec::vmspace::trace::Class;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use furlong_lab::model::{Failure, Workload};

/// Kinds of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// An index alone.
    Index(OnIndex),
    /// Threads that look up while one writes.
    Readers,
    /// The recorded calls and faults of a kernel build.
    Build,
    /// The calls of one kind during the replay of a recording.
    Calls(#[serde(deserialize_with = "class")] Class),
    /// The recording's faults, in the spaces' final states.
    Faults,
    /// The break, moved up and down.
    Break,
}

/// Operations on an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnIndex {
    /// Look-ups of addresses.
    LookUp,
    /// Stores in random order.
    StoreRandom,
    /// Erasures in random order.
    EraseRandom,
    /// Stores in ascending order.
    Append,
    /// Walks through all areas.
    Iterate,
    /// Copies of all areas.
    Fork,
    /// Copies of most areas.
    BulkFork,
    /// Replacements, as high as possible.
    Churn,
    /// A guest that comes and goes.
    Toggle,
    /// Searches for the lowest gap.
    GapLow,
    /// Searches for the highest gap.
    GapHigh,
    /// Searches for a gap where none suits.
    GapNone,
}

/// A parsed workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Number of areas.
    pub(super) areas: usize,
    /// Number of reading threads.
    pub(super) threads: usize,
    /// True if the other thread computes instead of writing.
    pub(super) computes: bool,
    /// True if readers use the lower half of the areas, and the writer the upper half.
    pub(super) apart: bool,
}

/// Maximum areas of a workload.
const AREAS_MAX: u64 = 1 << 24;

impl Shape {
    pub(super) fn of(load: &Workload) -> Result<Self, Failure> {
        let kind = load.read()?;
        let is_set = |name| load.params.get(name) == Some(&1);
        Ok(Self {
            kind,
            areas: match kind {
                Kind::Build | Kind::Calls(_) | Kind::Faults => 0,
                _ => load.number("areas", 2..=AREAS_MAX)? as usize,
            },
            threads: match kind {
                Kind::Readers => load.number("threads", 1..=64)? as usize,
                _ => 1,
            },
            computes: is_set("computes"),
            apart: is_set("apart"),
        })
    }
}

/// Classes of calls that a workload may time.
const CLASSES: [Class; 9] = [
    Class::Map,
    Class::MapFixed,
    Class::Unmap,
    Class::Protect,
    Class::Brk,
    Class::Remap,
    Class::Fork,
    Class::Fault,
    Class::End,
];

fn class<'de, D: Deserializer<'de>>(from: D) -> Result<Class, D::Error> {
    let name = String::deserialize(from)?;
    let known = CLASSES.into_iter().find(|class| class.name() == name);
    known.ok_or_else(|| D::Error::custom(format!("`{name}` is no class of calls")))
}

/// The operation of a workload on an index alone; otherwise `None`.
#[must_use]
pub fn on_index(load: &Workload) -> Option<OnIndex> {
    match load.read() {
        Ok(Kind::Index(operation)) => Some(operation),
        _ => None,
    }
}

/// True if threads look up while one writes.
#[must_use]
pub fn has_readers(load: &Workload) -> bool {
    load.read() == Ok(Kind::Readers)
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::vmspace_index::experiment;

    fn said(name: &str, params: &[(&str, u64)]) -> Result<Shape, String> {
        let mut load = experiment().plan.workload(name).unwrap().clone();
        let params = params.iter();
        load.params = params
            .map(|(key, value)| ((*key).to_owned(), *value))
            .collect();
        Shape::of(&load).map_err(|failure| failure.0)
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_line() {
        for params in [&[][..], &[("areas", 1)]] {
            assert!(said("churn-1k", params).unwrap_err().contains("`areas`"));
        }
        let readers = said("readers-1", &[("areas", 64)]).unwrap_err();
        assert!(readers.contains("`threads`"));
        let readers = said("readers-1", &[("areas", 64), ("threads", 2)]).unwrap();
        assert_eq!(readers.threads, 2);
        assert!(said("kernbench", &[]).is_ok());
    }

    #[test]
    fn a_kind_that_is_not_known_is_refused_by_name() {
        let mut load = experiment().plan.workloads.remove(0);
        for kind in ["churn", "calls"].map(Into::into) {
            load.kind = kind;
            let failure = Shape::of(&load).unwrap_err();
            assert!(failure.0.starts_with("`kernbench`: "), "{}", failure.0);
        }
    }
}
