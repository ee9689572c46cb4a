//! Workloads, parsed from name and parameters.
#![forbid(unsafe_code)]

use furlong_spec::vmspace::trace::Class;

use furlong_lab::model::{Failure, Workload};

/// Kinds of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An index alone.
    Index(OnIndex),
    /// Threads that look up while one writes.
    Readers,
    /// The recorded calls and faults of a kernel build.
    Build,
    /// The calls of one kind during the replay of a recording.
    Calls(Class),
    /// The recording's faults, in the spaces' final states.
    Faults,
    /// The break, moved up and down.
    Break,
}

/// Operations on an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnIndex {
    LookUp,
    StoreRandom,
    EraseRandom,
    Append,
    Iterate,
    Fork,
    BulkFork,
    Churn,
    Toggle,
    GapLow,
    GapHigh,
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
        let name = load.name.as_str();
        let kind = kind(name).ok_or_else(|| Failure(format!("`{name}` is not a workload")))?;
        let number = |key| load.params.get(key).copied();
        let areas = match (kind, number("areas")) {
            (Kind::Build | Kind::Calls(_) | Kind::Faults, _) => 0,
            (_, Some(areas @ 2..=AREAS_MAX)) => areas as usize,
            _ => {
                let wanted = "`areas` is a number from 2 to 2^24 in the plan";
                return Err(Failure(wanted.to_owned()));
            }
        };
        let threads = match (kind, number("threads")) {
            (Kind::Readers, Some(threads @ 1..=64)) => threads as usize,
            (Kind::Readers, _) => {
                let wanted = "`threads` is a number from 1 to 64 in the plan";
                return Err(Failure(wanted.to_owned()));
            }
            _ => 1,
        };
        Ok(Self {
            kind,
            areas,
            threads,
            computes: number("computes") == Some(1),
            apart: number("apart") == Some(1),
        })
    }
}

/// Workloads by the prefix of a name; the rest is the size.
const STEMS: [(&str, OnIndex); 13] = [
    ("lookup-", OnIndex::LookUp),
    ("small-", OnIndex::LookUp),
    ("store-random-", OnIndex::StoreRandom),
    ("erase-random-", OnIndex::EraseRandom),
    ("append", OnIndex::Append),
    ("iterate", OnIndex::Iterate),
    ("bulk-fork", OnIndex::BulkFork),
    ("fork-", OnIndex::Fork),
    ("churn-", OnIndex::Churn),
    ("toggle-one", OnIndex::Toggle),
    ("gap-low", OnIndex::GapLow),
    ("gap-high", OnIndex::GapHigh),
    ("gap-none", OnIndex::GapNone),
];

/// Workloads that time the calls of one kind.
const CALLS: [(&str, Class); 9] = [
    ("kernbench-map", Class::Map),
    ("kernbench-fixed", Class::MapFixed),
    ("kernbench-unmap", Class::Unmap),
    ("kernbench-protect", Class::Protect),
    ("kernbench-brk", Class::Brk),
    ("runtimes-remap", Class::Remap),
    ("kernbench-fork", Class::Fork),
    ("kernbench-fault", Class::Fault),
    ("kernbench-end", Class::End),
];

fn kind(name: &str) -> Option<Kind> {
    let call = CALLS.iter().find(|(call, _)| *call == name);
    if let Some((_, class)) = call {
        return Some(Kind::Calls(*class));
    }
    Some(match name {
        "kernbench" => Kind::Build,
        "fault" => Kind::Faults,
        "brk" => Kind::Break,
        _ if name.starts_with("readers-") => Kind::Readers,
        _ => Kind::Index(STEMS.iter().find(|(stem, _)| name.starts_with(stem))?.1),
    })
}

/// True if a workload is on an index alone.
#[must_use]
pub fn on_index(load: &Workload) -> bool {
    matches!(kind(&load.name), Some(Kind::Index(_)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Shape;
    use furlong_lab::model::Workload;

    fn said(name: &str, params: &[(&str, u64)]) -> Result<Shape, String> {
        let params = params
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value));
        let load = Workload {
            name: name.to_owned(),
            params: BTreeMap::from_iter(params),
            ..Workload::default()
        };
        Shape::of(&load).map_err(|failure| failure.0)
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_a_line() {
        assert!(
            said("churn", &[])
                .unwrap_err()
                .contains("is not a workload")
        );
        assert!(said("churn-1k", &[]).unwrap_err().contains("`areas`"));
        assert!(
            said("churn-1k", &[("areas", 1)])
                .unwrap_err()
                .contains("`areas`")
        );
        let readers = said("readers-1", &[("areas", 64)]).unwrap_err();
        assert!(readers.contains("`threads`"));
        assert_eq!(
            said("readers-1", &[("areas", 64), ("threads", 2)])
                .unwrap()
                .threads,
            2
        );
        assert!(said("kernbench", &[]).is_ok());
    }
}
