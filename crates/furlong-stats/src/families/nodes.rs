//! The node as a blocking factor: results of a run over several machines, by machine.
//!
//! All arms of a block ran on one node. A constant effect of the node therefore cancels within the
//! block, and the verdict uses the blocks of all nodes. An arm's effect that differs between nodes
//! does not cancel. It widens the interval, and a test compares it with chance. A verdict that a
//! node contradicts becomes inconclusive.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::Evidence;
use crate::describe::mean;
use crate::distribution::f_sf;
use crate::paired::Paired;
use crate::value::{ByNode, Comparison, NodeEffect, NodesTest, Verdict, WorkloadResult};
use crate::verdict::{ALPHA, Rule};

/// The parameter of a workload with the numbers of the blocks, by node.
pub const NODES: &str = "blocks_by_node";

/// The node of each block of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    names: Vec<String>,
    /// For each block of the workload, the index of its node's name.
    of_block: Vec<Option<usize>>,
}

impl Nodes {
    /// The nodes of a workload; `None` if it was measured on one machine.
    pub fn of(workload: &WorkloadResult) -> Option<Self> {
        let noted = workload.params.get(NODES)?.clone();
        let noted: BTreeMap<String, BTreeSet<u32>> = serde_json::from_value(noted).ok()?;
        let names: Vec<String> = noted.keys().cloned().collect();
        let of_block = |number: &u32| noted.values().position(|blocks| blocks.contains(number));
        (names.len() > 1).then(|| Self {
            names,
            of_block: workload.blocks.iter().map(of_block).collect(),
        })
    }

    /// The effects of each node that has any.
    fn groups<'a>(&'a self, effects: &[(usize, f64)]) -> Vec<(&'a str, Vec<f64>)> {
        let names = self.names.iter().enumerate();
        let groups = names.map(|(index, name)| {
            let here = effects
                .iter()
                .filter(|(block, _)| self.of_block.get(*block) == Some(&Some(index)));
            (name.as_str(), here.map(|(_, effect)| *effect).collect())
        });
        groups
            .filter(|(_, all): &(_, Vec<f64>)| !all.is_empty())
            .collect()
    }

    /// The effect on each node.
    ///
    /// # Shapes
    ///
    /// `effects` has one entry per block, with the block's index in the workload.
    pub fn judge(&self, evidence: &Evidence, effects: &[(usize, f64)]) -> ByNode {
        let groups = self.groups(effects);
        let scale = evidence.scale;
        let level = 1.0 - ALPHA / groups.len().max(1) as f64;
        let mut judged = ByNode {
            effects: vec![],
            differ: differ(&groups),
        };
        for (node, all) in &groups {
            let paired = Paired::of(all);
            judged.effects.push(NodeEffect {
                node: (*node).to_owned(),
                n: all.len(),
                effect_pct: scale.pct(mean(all)).clamp(f64::MIN, f64::MAX),
                ci95_pct: paired.map(|paired| evidence.pct(paired.interval(1.0 - ALPHA))),
                claim: paired.and_then(|paired| claim(&evidence.rule, paired.interval(level))),
            });
        }
        judged
    }
}

/// The verdict proven by a node's own interval.
fn claim(rule: &Rule, [low, high]: [f64; 2]) -> Option<Verdict> {
    let greater = low > rule.margin;
    (greater || high < -rule.margin).then(|| rule.better.beyond(greater))
}

/// Withdraws a verdict that a node contradicts.
pub fn contradict(comparison: &mut Comparison) {
    let verdict = comparison.verdict;
    let Some(by_node) = &comparison.by_node else {
        return;
    };
    let against = |node: &&NodeEffect| match (verdict, node.claim) {
        (Verdict::Inconclusive, _) | (_, None) => false,
        (_, Some(claim)) => claim != verdict,
    };
    let against: Vec<&str> = by_node
        .effects
        .iter()
        .filter(against)
        .map(|node| node.node.as_str())
        .collect();
    if !against.is_empty() {
        (comparison.verdict, comparison.direction) = (Verdict::Inconclusive, None);
        comparison.reason = Some(format!(
            "the nodes disagree: not so on {}; compare them one by one",
            against.join(", ")
        ));
    }
}

/// Tests if the nodes' means differ by more than chance: one-way analysis of variance. `None` if no
/// node has two blocks, or nothing varies.
pub(super) fn differ(groups: &[(&str, Vec<f64>)]) -> Option<NodesTest> {
    let all: Vec<f64> = groups.iter().flat_map(|(_, all)| all).copied().collect();
    let centre = mean(&all);
    let squares = |values: &[f64], centre: f64| -> f64 {
        values.iter().map(|value| (value - centre).powi(2)).sum()
    };
    let within: f64 = groups.iter().map(|(_, g)| squares(g, mean(g))).sum();
    let between: f64 = groups
        .iter()
        .map(|(_, g)| g.len() as f64 * (mean(g) - centre).powi(2))
        .sum();
    let df1 = groups.len() as f64 - 1.0;
    let df2 = all.len() as f64 - groups.len() as f64;
    let f = (between / df1) / (within / df2);
    (df1 > 0.0 && df2 > 0.0 && f.is_finite()).then(|| NodesTest {
        f,
        df1,
        df2,
        p: f_sf(f, df1, df2),
    })
}

#[cfg(test)]
mod tests;
