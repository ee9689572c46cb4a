//! Synthetic pull requests: benchmarks that share a time, measured by the real plan and looks.

use std::collections::BTreeMap;

use serde_json::json;

use crate::budget::{BLOCK_S, Member, PILOT, planned};
use crate::judge::judge_together;
use crate::promise::Bound;
use crate::random::Random;
use crate::simulation::{Cell, Disturbance, metrics, until_certain, workload};
use crate::stopping::{ANSWER_LOOKS, FAMILY};
use crate::value::{Metric, Verdict, WorkloadResult};

/// A kind of pull request with its truth.
#[derive(Clone, Copy, Debug)]
pub struct PullRequest {
    /// Its name in the table.
    pub name: &'static str,
    /// Benchmarks.
    pub members: usize,
    /// Deviations of their noise in per cent, in turns.
    pub cv_pct: &'static [f64],
    /// The machine's disturbance.
    pub disturbance: Disturbance,
    /// Declared margin, in per cent.
    pub margin_pct: f64,
    /// The first benchmark is slower by this many per cent.
    pub slower_pct: f64,
    /// Seconds for all of them.
    pub budget_s: f64,
    /// Seconds of a block.
    pub block_s: f64,
    /// Name of the share that is checked, and its bound.
    pub claim: (&'static str, Bound),
}

/// Numbers of runs of a pull request by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FamilyTally {
    /// Runs.
    pub runs: u32,
    /// With a benchmark without effect that is called slower.
    pub alarms: u32,
    /// With the first benchmark called slower.
    pub found: u32,
    /// Benchmarks with a verdict, in all runs.
    pub decided: u32,
    /// Seconds of all runs.
    pub seconds: f64,
}

/// Name of the share of runs with a false alarm.
pub const ALARM: &str = "false alarm";

/// Name of the share of runs that find a true effect.
pub const FOUND: &str = "found";

impl FamilyTally {
    /// A named share of the runs.
    pub fn share(&self, name: &str) -> f64 {
        let count = if name == ALARM {
            self.alarms
        } else {
            self.found
        };
        f64::from(count) / f64::from(self.runs)
    }
}

/// A quiet machine, one with typical programs, and one with noisy ones.
const NOISES: [&[f64]; 3] = [&[1.0], &[0.3, 1.0, 3.0], &[5.0]];

/// The guarantees for pull requests of twenty benchmarks within five minutes.
pub fn pull_requests() -> Vec<PullRequest> {
    let [quiet, typical, noisy] = NOISES;
    let same = PullRequest {
        name: "no effect, margin 1 %",
        members: 20,
        cv_pct: quiet,
        disturbance: Disturbance::None,
        margin_pct: 1.0,
        slower_pct: 0.0,
        budget_s: 300.0,
        block_s: 0.4,
        claim: (ALARM, Bound::AtMost(0.05)),
    };
    let of = |cv_pct| PullRequest { cv_pct, ..same };
    let no_margin = PullRequest {
        name: "no effect, margin 0",
        margin_pct: 0.0,
        ..of(typical)
    };
    let drift = PullRequest {
        disturbance: Disturbance::Linear,
        ..of(typical)
    };
    let slower = PullRequest {
        name: "one is 2 % slower",
        slower_pct: 2.0,
        claim: (FOUND, Bound::AtLeast(0.9)),
        ..same
    };
    vec![same, of(typical), of(noisy), no_margin, drift, slower]
}

impl PullRequest {
    /// Simulates it a number of times.
    pub fn simulate(&self, runs: u32, seed: u64) -> FamilyTally {
        let mut random = Random::new(seed);
        let mut tally = FamilyTally::default();
        for _ in 0..runs {
            self.once(&mut random, &mut tally);
        }
        tally
    }

    fn cell(&self, member: usize, blocks: u32) -> Cell {
        let slower = if member == 0 { self.slower_pct } else { 0.0 };
        Cell {
            disturbance: self.disturbance,
            cv_pct: self.cv_pct[member % self.cv_pct.len()],
            ratio: 1.0 + slower / 100.0,
            margin_pct: self.margin_pct,
            ..Cell::quiet(blocks as usize)
        }
    }

    fn once(&self, random: &mut Random, tally: &mut FamilyTally) {
        let (known, order) = metrics(&self.cell(0, PILOT));
        let mut left_s = self.budget_s - f64::from(PILOT) * self.block_s * self.members as f64;
        let pilot = |member| {
            let mut pilot = workload(&self.cell(member, PILOT), &order, random);
            let facts = [
                (FAMILY, json!(self.members)),
                (BLOCK_S, json!(self.block_s)),
            ];
            let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
            pilot.params.extend(facts);
            let cost = Member::of(&pilot, &order[0], self.margin_pct);
            (cost, member, pilot)
        };
        let mut open: Vec<_> = (0..self.members).map(pilot).collect();
        open.sort_by(|(a, ..), (b, ..)| a.cost_s().total_cmp(&b.cost_s()));
        let costs: Vec<Member> = open.iter().map(|(cost, ..)| *cost).collect();
        let mut measured = vec![];
        for (at, (_, member, pilot)) in open.into_iter().enumerate() {
            let planned = planned(&costs[at..], left_s);
            let whole = match planned - PILOT {
                0 => pilot,
                more => joined(pilot, &workload(&self.cell(member, more), &order, random)),
            };
            let result = until_certain(&whole, ANSWER_LOOKS, &known, &order);
            left_s -= (result.blocks.len() as f64 - f64::from(PILOT)) * self.block_s;
            measured.push((member, result));
        }
        tally.seconds += self.budget_s - left_s;
        self.judge(measured, (&known, &order), tally);
    }

    fn judge(
        &self,
        measured: Vec<(usize, WorkloadResult)>,
        (known, order): (&BTreeMap<String, Metric>, &[String]),
        tally: &mut FamilyTally,
    ) {
        let (members, mut results): (Vec<usize>, Vec<WorkloadResult>) =
            measured.into_iter().unzip();
        judge_together(&mut results, known, order, None);
        let verdicts = results.iter().map(|one| one.comparisons[0].verdict);
        let verdicts: Vec<(usize, Verdict)> = members.into_iter().zip(verdicts).collect();
        let is_slower = |(_, verdict): &&(usize, Verdict)| *verdict == Verdict::Revert;
        let is_changed = |member: usize| member == 0 && self.slower_pct > 0.0;
        let mut slower = verdicts.iter().filter(is_slower);
        tally.runs += 1;
        tally.found += u32::from(slower.clone().any(|(member, _)| is_changed(*member)));
        tally.alarms += u32::from(slower.any(|(member, _)| !is_changed(*member)));
        let open = |(_, verdict): &&(usize, Verdict)| *verdict == Verdict::Inconclusive;
        let open = verdicts.iter().filter(open).count();
        tally.decided += (self.members - open) as u32;
    }
}

/// A workload with the blocks of another behind its own.
fn joined(mut first: WorkloadResult, second: &WorkloadResult) -> WorkloadResult {
    let done = first.blocks.len() as u32;
    first
        .blocks
        .extend(second.blocks.iter().map(|block| done + block));
    first.order.extend(second.order.iter().cloned());
    for (arm, more) in first.arms.iter_mut().zip(&second.arms) {
        for (metric, samples) in &mut arm.samples {
            samples.extend(&more.samples[metric]);
        }
    }
    for (metric, control) in &mut first.control {
        control.samples.extend(&second.control[metric].samples);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::pull_requests;

    /// Runs; the example has more, and of every kind.
    const RUNS: u32 = 20;

    #[test]
    fn a_slower_benchmark_is_found_within_the_time_and_no_other() {
        let all = pull_requests().into_iter();
        let mut slower = all.filter(|one| one.slower_pct > 0.0);
        let mut one = slower.next().unwrap();
        (one.members, one.budget_s) = (4, 60.0);
        let tally = one.simulate(RUNS, 1);
        assert!(tally.found >= RUNS - 2, "{tally:?}");
        assert!(tally.alarms <= 2, "{tally:?}");
        assert!(tally.decided >= 3 * RUNS, "{tally:?}");
        assert!(tally.seconds <= one.budget_s * f64::from(RUNS), "{tally:?}");
    }

    #[test]
    fn a_run_without_blocks_for_verdicts_has_none() {
        let mut one = pull_requests().remove(0);
        one.budget_s = 0.0;
        let tally = one.simulate(5, 1);
        assert_eq!((tally.alarms, tally.found, tally.runs), (0, 0, 5));
    }
}
