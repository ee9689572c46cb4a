//! All workloads of an experiment within one time: a pilot of each, then the counts, then the
//! blocks, the cheapest workload to decide first.

use std::time::{Duration, Instant};

use serde_json::json;

use super::ending::Clock;
use super::{Campaign, End};
use crate::model::schedule::ScheduledWorkload;
use crate::record::ledger::Place;
use furlong_stats::budget::{BLOCK_S, Member, NEEDED, PILOT, planned};
use furlong_stats::judge::MARGIN_PCT;
use furlong_stats::stopping::{ANSWER_LOOKS, STOPPING, Stopping};

/// A workload that can be measured.
struct Runnable<'a> {
    place: Place,
    scheduled: &'a ScheduledWorkload,
    operations: u64,
}

/// The time for everything.
struct Budget {
    began: Instant,
    all_s: f64,
}

impl Budget {
    fn spent_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn left_s(&self) -> f64 {
        self.all_s - self.spent_s()
    }

    /// Ends a pilot that does not fit, after `done` of `all` equal parts of it. A part that is not
    /// `typical` says nothing about the others.
    fn suffices(&self, done: usize, all: usize, typical: bool) -> Result<(), End> {
        let spent_s = self.spent_s();
        let least_s = spent_s * all as f64 / done as f64;
        if spent_s <= self.all_s && !(typical && least_s > self.all_s) {
            return Ok(());
        }
        // The margin is for the noise of this estimate.
        let least_s = (1.1 * least_s).ceil();
        Err(End::TooShort(format!(
            "--budget {} s is too short: a verdict needs {PILOT} blocks of every benchmark, which \
             take about {least_s} s: give --budget {least_s}s, or choose benchmarks with --bench",
            self.all_s
        )))
    }
}

impl<'a> Campaign<'a> {
    /// Measures an experiment within a number of seconds. A resumed one has as many again.
    pub(super) fn within(&mut self, experiment: usize, all_s: f64) -> Result<(), End> {
        let budget = Budget {
            began: Instant::now(),
            all_s,
        };
        let runnable = self.pilot(experiment, &budget)?;
        // Counts are exact and name small changes, but half of the time is for the noise.
        let counts_end_s = budget.spent_s() + budget.left_s() / 2.0;
        self.add_passes(experiment);
        for one in &runnable {
            if budget.spent_s() < counts_end_s {
                self.count_workload(one.place, one.scheduled)?;
            } else if self.has_uncounted(one.place) {
                let text = "its instructions were not counted: half of the budget was spent";
                self.ledger.warn(one.place, text.to_owned());
            }
        }
        let estimated = runnable
            .into_iter()
            .map(|one| (self.member(one.place), one));
        let mut open: Vec<(Member, Runnable<'a>)> = estimated.collect();
        open.sort_by(|(a, _), (b, _)| a.cost_s().total_cmp(&b.cost_s()));
        for at in 0..open.len() {
            let members: Vec<Member> = open[at..].iter().map(|(member, _)| *member).collect();
            let (member, one) = &open[at];
            self.plan_within(one.place, *member, planned(&members, budget.left_s()));
            let left = Duration::try_from_secs_f64(budget.left_s()).unwrap_or_default();
            let clock = Clock::until(one.scheduled, left);
            self.blocks(one.place, one.scheduled, one.operations, &clock)?;
        }
        Ok(())
    }

    /// Calibrates every workload and measures its first blocks, in turns.
    fn pilot(&mut self, experiment: usize, budget: &Budget) -> Result<Vec<Runnable<'a>>, End> {
        let all: Vec<_> = Place::of(self.schedule, experiment).collect();
        let parts = all.len() * (PILOT as usize + 1);
        let mut runnable = vec![];
        for (at, (place, scheduled)) in all.iter().enumerate() {
            if let Some(operations) = self.operations(*place, scheduled)? {
                runnable.push(Runnable {
                    place: *place,
                    scheduled,
                    operations,
                });
            }
            budget.suffices(at + 1, parts, false)?;
        }
        for number in 1..=PILOT {
            let members = runnable.len();
            let mut kept = vec![];
            for (at, one) in runnable.into_iter().enumerate() {
                if !self.ledger.has_block(one.place, number) {
                    let began = Instant::now();
                    self.one(one.place, one.scheduled, one.operations, number)?;
                    let took_s = began.elapsed().as_secs_f64();
                    self.ledger.note(one.place, BLOCK_S, json!(took_s));
                }
                // The first block also reads the program from disk.
                let typical = number > 1 && at + 1 == members;
                budget.suffices(all.len() * number as usize + at + 1, parts, typical)?;
                if !self.gives_up(one.place) {
                    kept.push(one);
                }
            }
            runnable = kept;
        }
        Ok(runnable)
    }

    /// Fixes the most blocks of a workload, unless a part of the run did so that was interrupted.
    fn plan_within(&mut self, place: Place, member: Member, planned: u32) {
        if let Stopping::Answer { .. } = Stopping::of(self.ledger.workload(place)) {
            let looks = ANSWER_LOOKS;
            let rule = Stopping::Early { planned, looks };
            self.ledger.note(place, STOPPING, json!(rule));
            self.ledger.note(place, NEEDED, json!(member.needed));
        }
    }

    /// Estimates the cost of a decision from the blocks so far.
    fn member(&self, place: Place) -> Member {
        let workload = self.ledger.workload(place);
        let experiment = &self.ledger.result().experiments[place.experiment];
        let primary = experiment.wanted(None, workload);
        let (name, margin) = primary.map_or(("", None), |(name, one)| (name, one.margin_pct));
        let margin = self.schedule.margin_pct.or(margin);
        Member::of(workload, name, margin.unwrap_or(MARGIN_PCT))
    }
}
