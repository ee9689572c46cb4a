//! Workloads, parsed from their names.
#![forbid(unsafe_code)]

use furlong_lab::model::{Failure, Workload};

/// Kinds of operations on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Inserts and removes, with about half of the nodes linked (`plain`).
    Toggle,
    /// Inserts; empties the structure when it is full (`ins`).
    Insert,
    /// Removes; refills the structure when it is empty (`rem`).
    Remove,
}

/// A parsed workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// True for random permutations and picks, false for ascending ones.
    pub(super) is_random: bool,
    /// Number of nodes, even.
    pub(super) nodes: usize,
}

impl Shape {
    /// Parses `plain`, `ins` or `rem`, with an optional `-seq`. The arm handles a `-key` at the
    /// end.
    pub(super) fn of(workload: &Workload) -> Result<Self, Failure> {
        let name = workload.name.trim_end_matches("-key");
        let kind = match name.trim_end_matches("-seq") {
            "plain" => Kind::Toggle,
            "ins" => Kind::Insert,
            "rem" => Kind::Remove,
            _ => return Err(Failure(format!("`{}` is not a workload", workload.name))),
        };
        let nodes = workload.params.get("nodes").copied().unwrap_or(0);
        let nodes = u32::try_from(nodes)
            .ok()
            .filter(|n| (2..=1 << 30).contains(n) && n % 2 == 0);
        let nodes = nodes.ok_or_else(|| {
            Failure("`nodes` is an even number from 2 to 2^30 in the plan".to_owned())
        })?;
        Ok(Self {
            kind,
            is_random: !name.ends_with("-seq"),
            nodes: nodes as usize,
        })
    }
}

/// Packs a node and the direction: true for insertion.
pub(super) fn toggle(node: u32, goes_in: bool) -> u32 {
    node << 1 | u32::from(goes_in)
}

/// The inverse of [`toggle`].
#[inline(always)]
pub(super) fn split(entry: u32) -> (u32, bool) {
    (entry >> 1, entry & 1 == 1)
}
