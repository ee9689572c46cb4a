//! Workloads: their kinds, as the plan names them, and their nodes.

use furlong_lab::model::{Failure, Workload};
use serde::Deserialize;

/// Kinds of operations on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Moves {
    /// Inserts and removes, with about half of the nodes linked.
    Toggle,
    /// Inserts; empties the structure when it is full.
    Insert,
    /// Removes; refills the structure when it is empty.
    Remove,
}

/// The order of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// Ascending.
    Sequential,
    /// Random permutations and picks.
    Random,
}

/// A workload's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Kind {
    pub(super) moves: Moves,
    pub(super) order: Order,
    /// Removes by key instead of by node.
    #[serde(default)]
    pub(super) by_key: bool,
}

/// Returns the number of nodes, which is even.
pub(super) fn nodes(workload: &Workload) -> Result<usize, Failure> {
    match workload.number("nodes", 2..=1 << 30)? {
        odd if odd % 2 == 1 => Err(workload.wrong("`nodes` is even")),
        nodes => Ok(nodes as usize),
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
