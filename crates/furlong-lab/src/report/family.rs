//! The answer to a family of workloads: their changes, the worst first, and the number of the
//! others.

use std::cmp::Ordering;

use serde_json::Value;

use super::causes;
use super::outline::{self, Named};
use super::quantity::{counted, fixed};
use super::told;
use crate::model::result::{Comparison, ExperimentResult, ResultFile, Verdict, WorkloadResult};
use crate::record::judged::{INSTRUCTIONS_PER_OP, regressions};
use furlong_stats::budget::{BLOCK_S, BUDGET_S, NEEDED};
use furlong_stats::stopping::FAMILY;

/// Longest time that is estimated.
const ESTIMATE_S_MAX: f64 = 86_400.0;

/// A family with its verdicts.
pub(super) struct Family<'a> {
    /// The experiment.
    pub(super) experiment: &'a ExperimentResult,
    /// Changes in time or instructions, the worst first.
    pub(super) changes: Vec<Member<'a>>,
    /// The other workloads.
    pub(super) others: Vec<Member<'a>>,
}

/// A workload with its comparisons.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    /// The workload.
    pub(super) workload: &'a WorkloadResult,
    /// Its deciding comparison, with the metric.
    pub(super) time: Option<(Named<'a>, &'a Comparison)>,
    /// The comparison of its instructions.
    pub(super) counts: Option<&'a Comparison>,
    /// True if it is a regression.
    pub(super) is_regression: bool,
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Keep | Verdict::Revert)
}

impl<'a> Member<'a> {
    fn of(experiment: &'a ExperimentResult, workload: &'a WorkloadResult) -> Self {
        let time = outline::primary(experiment, workload).and_then(|named| {
            let compared = outline::comparisons(workload, named.0).into_iter().next();
            Some((named, compared?))
        });
        let counts = outline::comparisons(workload, INSTRUCTIONS_PER_OP);
        let mut worse = regressions(experiment);
        Self {
            workload,
            time,
            counts: counts.into_iter().next(),
            is_regression: worse.any(|(one, _)| one.name == workload.name),
        }
    }

    /// The verdict on its time.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.time.map(|(_, one)| one.verdict)
    }

    /// True if the instructions changed by more than their margin.
    pub(super) fn counts_changed(&self) -> bool {
        self.counts.is_some_and(|one| is_change(one.verdict))
    }

    fn is_change(&self) -> bool {
        self.verdict().is_some_and(is_change) || self.counts_changed()
    }

    /// Size of its change, for the order.
    fn size(&self) -> f64 {
        let time = self.time.map(|(_, one)| one);
        let time = time.filter(|one| is_change(one.verdict));
        let effect = time.or(self.counts).map_or(0.0, |one| one.effect_pct);
        (1.0 + effect / 100.0).ln().abs()
    }

    fn worst_first(&self, other: &Self) -> Ordering {
        let rank = |one: &Self| {
            let gain = one.verdict() == Some(Verdict::Keep);
            (!one.is_regression, gain)
        };
        let size = |one: &Self| one.size();
        rank(self)
            .cmp(&rank(other))
            .then(size(other).total_cmp(&size(self)))
    }

    /// The word and the amounts of its change: `slower` and `3.0 % more time [2.1, 3.9]`.
    pub(super) fn told(&self) -> (&'static str, String) {
        let mut amounts = vec![];
        let mut word = None;
        if let Some(((_, metric), one)) = self.time.filter(|(_, one)| is_change(one.verdict)) {
            word = Some(told::told(metric, one));
            let (amount, interval) = told::amount_and_interval(metric, one);
            let interval = interval.map_or(String::new(), |interval| format!(" {interval}"));
            amounts.push(format!("{amount}{interval}"));
        }
        if let Some(one) = self.counts.filter(|one| is_change(one.verdict)) {
            let more = one.effect_pct > 0.0;
            word = word.or(Some(if more { "more work" } else { "less work" }));
            amounts.push(instructions(one.effect_pct));
        }
        (word.unwrap_or("same"), amounts.join(", "))
    }

    /// The function that most of its change in instructions comes from.
    pub(super) fn cause(&self) -> Option<String> {
        let (_, found) = causes::of_arms(self.workload).into_iter().next()?;
        found.functions.into_iter().next().map(|one| one.function)
    }

    /// Seconds that may decide it if it is open. One that had the estimated blocks has its effect
    /// near the margin, and needs at least as many again.
    fn more_s(&self) -> Option<f64> {
        let fact = |name| self.workload.params.get(name).and_then(Value::as_f64);
        let blocks = self.workload.blocks.len() as f64;
        let more = (fact(NEEDED)? - blocks).max(blocks);
        Some(more * fact(BLOCK_S)?)
    }
}

/// A change in instructions, in per cent, which is exact: `2.994 % more instructions`.
pub(super) fn instructions(pct: f64) -> String {
    let word = if pct < 0.0 { "fewer" } else { "more" };
    let decimals = if pct.abs() < 10.0 { 3 } else { 1 };
    format!("{} % {word} instructions", fixed(pct.abs(), decimals))
}

impl<'a> Family<'a> {
    /// The only experiment of a result, if its workloads are a family.
    pub(super) fn of(file: &'a ResultFile) -> Option<Self> {
        let [experiment] = &file.experiments[..] else {
            return None;
        };
        let mut workloads = experiment.workloads.iter();
        if !workloads.any(|w| w.params.contains_key(FAMILY)) {
            return None;
        }
        let all = experiment.workloads.iter();
        let all = all.map(|workload| Member::of(experiment, workload));
        let (mut changes, others): (Vec<_>, Vec<_>) = all.partition(Member::is_change);
        changes.sort_by(Member::worst_first);
        Some(Self {
            experiment,
            changes,
            others,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Member<'a>> {
        self.changes.iter().chain(&self.others)
    }

    /// The number of workloads with a verdict on their time that fulfils a condition.
    fn count(&self, wanted: impl Fn(Verdict) -> bool) -> usize {
        let verdicts = self.all().filter_map(Member::verdict);
        verdicts.filter(|verdict| wanted(*verdict)).count()
    }

    /// The number of regressions.
    pub(super) fn regressions(&self) -> usize {
        self.all().filter(|one| one.is_regression).count()
    }

    /// `20 benchmarks: 1 changed, 17 the same, 2 cannot be told`.
    pub(super) fn tally(&self) -> String {
        let members = self.experiment.workloads.len() as u64;
        let changes = self.count(is_change);
        let same = self.count(|verdict| verdict == Verdict::Equivalent);
        let open = self.open();
        let mut tally = format!(
            "{}: {changes} changed, {same} the same, {open} cannot be told",
            counted(members, "benchmark")
        );
        if self.failed() > 0 {
            tally.push_str(&format!(", {} failed", self.failed()));
        }
        if self.all().any(|one| one.counts.is_some()) {
            let changed = self.all().filter(|one| one.counts_changed()).count();
            tally.push_str(&format!("; instructions: {changed} changed"));
        }
        tally
    }

    /// The number of workloads whose time gives no verdict.
    pub(super) fn open(&self) -> usize {
        self.count(|verdict| verdict == Verdict::Inconclusive)
    }

    /// The number of workloads without figures of both sides.
    pub(super) fn failed(&self) -> usize {
        let begun = self.all().filter(|one| !one.workload.blocks.is_empty());
        begun.filter(|one| one.time.is_none()).count()
    }

    /// The option that may decide more, if something is open.
    pub(super) fn to_decide_more(&self) -> Option<String> {
        if self.open() == 0 {
            return None;
        }
        let first = self.experiment.workloads.first()?;
        let Some(budget_s) = first.params.get(BUDGET_S).and_then(Value::as_f64) else {
            return Some("to decide more: --max-time SECONDS for each".to_owned());
        };
        let open = self.all();
        let open = open.filter(|one| one.verdict() == Some(Verdict::Inconclusive));
        let more_s: f64 = open.filter_map(Member::more_s).sum();
        let all_s = budget_s + more_s;
        Some(if all_s > ESTIMATE_S_MAX {
            "to decide more: a quieter machine; with this noise it takes more than a day".to_owned()
        } else {
            format!("to decide more: about --budget {}m", (all_s / 60.0).ceil())
        })
    }

    /// The number of warnings about workloads.
    pub(super) fn warnings(&self) -> usize {
        self.all().map(|one| one.workload.warnings.len()).sum()
    }
}
