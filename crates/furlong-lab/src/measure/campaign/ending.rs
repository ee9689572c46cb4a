//! Decides when a workload has enough blocks before its maximum.

use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Campaign;
use crate::measure::launch::command::WALL;
use crate::model::result::{Comparison, Verdict, WorkloadResult};
use crate::model::schedule::{ENOUGH_RUNS, EnoughRuns, ScheduledWorkload};
use crate::record::ledger::Place;
use furlong_stats::blocks::Blocks;
use furlong_stats::judge;
use furlong_stats::paired::Paired;
use furlong_stats::stopping::{ANSWER_LOOKS, STOPPED, STOPPING, Stopped, Stopping};
use furlong_stats::verdict::BLOCKS_MIN;

/// Time limit of a workload.
pub(super) struct Clock {
    began: Instant,
    limit: Option<Duration>,
    /// Blocks below which the limit does not count.
    least: u32,
    /// Blocks below which nothing ends the workload.
    min_blocks: u32,
}

impl Clock {
    /// Starts with a workload, also with a resumed one.
    pub(super) fn new(scheduled: &ScheduledWorkload) -> Self {
        let (limit, least) = match (scheduled.max_time_s(), scheduled.stopping()) {
            (None, Stopping::Answer { limit_s }) => (Some(limit_s), BLOCKS_MIN as u32),
            (most, _) => (most, 1),
        };
        Self {
            began: Instant::now(),
            limit: limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            least,
            min_blocks: scheduled.min_blocks(),
        }
    }

    /// Starts with a workload that has a number of seconds, whatever its rule.
    pub(super) fn until(scheduled: &ScheduledWorkload, left: Duration) -> Self {
        Self {
            limit: Some(left),
            least: 0,
            ..Self::new(scheduled)
        }
    }

    fn is_over(&self, blocks: u32) -> bool {
        let over = |limit| self.began.elapsed() >= limit;
        blocks >= self.least && self.limit.is_some_and(over)
    }
}

impl Campaign<'_> {
    /// Returns the reason why no further block is needed, if there is one.
    pub(super) fn enough(&self, place: Place, clock: &Clock) -> Option<Stopped> {
        let workload = self.ledger.workload(place);
        let blocks = workload.blocks.len() as u32;
        if let Some(stopped) = Stopped::of(workload) {
            return Some(stopped);
        }
        if blocks < clock.min_blocks {
            return None;
        }
        let rule = Stopping::of(workload);
        if rule.looks_at(blocks) && self.is_certain(place) {
            return Some(Stopped::Verdict);
        }
        if self
            .wanted(place, rule)
            .is_some_and(|wanted| blocks >= wanted)
        {
            return Some(Stopped::Width);
        }
        if has_enough_runs(workload) {
            return Some(Stopped::Runs);
        }
        let is_done = matches!(rule, Stopping::Early { planned, .. } if blocks >= planned);
        (is_done || clock.is_over(blocks)).then_some(Stopped::Time)
    }

    /// Fixes the number of blocks that fit into the time for an answer, once there are two. The
    /// first one is no measure: it also reads the programs from disk.
    pub(super) fn plan(&mut self, place: Place, clock: &Clock, took: Duration, most: u32) {
        let workload = self.ledger.workload(place);
        let blocks = workload.blocks.len() as u32;
        let Stopping::Answer { limit_s } = Stopping::of(workload) else {
            return;
        };
        if blocks < 2 {
            return;
        }
        let left_s = limit_s - clock.began.elapsed().as_secs_f64();
        let more = (left_s / took.as_secs_f64().max(1e-6)).clamp(0.0, f64::from(most)) as u32;
        let least = clock.min_blocks.max(BLOCKS_MIN as u32);
        let planned = (blocks + more).clamp(least, most.max(least));
        let rule = Stopping::Early {
            planned,
            looks: ANSWER_LOOKS,
        };
        self.ledger.note(place, STOPPING, serde_json::json!(rule));
    }

    /// The effect so far, with its interval, for a person who waits.
    pub(super) fn so_far(&self, place: Place) -> Option<String> {
        let workload = self.ledger.workload(place);
        let experiment = &self.ledger.result().experiments[place.experiment];
        let (primary, _) = experiment.wanted(None, workload)?;
        let [a, b, ..] = &workload.arms[..] else {
            return None;
        };
        let control = workload.control.get(primary)?;
        let (a, b) = (a.samples.get(primary)?, b.samples.get(primary)?);
        let blocks = Blocks::of(a, Some(&control.samples), b);
        let effect = Paired::of(&blocks.effects())?;
        let pct = |effect| blocks.scale().pct(effect);
        let [low, high] = effect.interval(0.95).map(pct);
        let mean = pct(effect.mean);
        Some(format!("{mean:+.1} % [{low:+.1}, {high:+.1}]"))
    }

    /// Records the reason why a workload ends, and warnings for its reader.
    pub(super) fn stop(&mut self, place: Place, stopped: Stopped) {
        if Stopped::of(self.ledger.workload(place)).is_some() {
            return;
        }
        self.ledger.note(place, STOPPED, stopped.name().into());
        if stopped == Stopped::Verdict {
            let text = "stopped as soon as the verdict was certain: the true effect is probably \
                        smaller, because a run stops when chance favours the verdict";
            self.ledger.warn(place, text.to_owned());
        }
    }

    /// Reports the number of blocks that the wanted width would have needed, if they were not run.
    pub(super) fn tell_shortfall(&mut self, place: Place) {
        let workload = self.ledger.workload(place);
        let blocks = workload.blocks.len() as u32;
        let wanted = self.wanted(place, Stopping::of(workload));
        if let Some(wanted) = wanted.filter(|wanted| *wanted > blocks) {
            let text = format!(
                "the interval is wider than requested: {wanted} blocks would be enough (--blocks \
                 {wanted} allows them)"
            );
            self.ledger.warn(place, text);
        }
    }

    /// True if every arm has its verdict in the primary metric.
    pub(super) fn is_certain(&self, place: Place) -> bool {
        let verdicts = self.verdicts(place);
        !verdicts.is_empty() && !verdicts.contains(&Verdict::Inconclusive)
    }

    /// True if an arm differs in the primary metric.
    pub(super) fn is_different(&self, place: Place) -> bool {
        let mut verdicts = self.verdicts(place).into_iter();
        verdicts.any(|one| matches!(one, Verdict::Keep | Verdict::Revert))
    }

    /// Returns the verdict of every arm in the primary metric.
    fn verdicts(&self, place: Place) -> Vec<Verdict> {
        let experiment = &self.ledger.result().experiments[place.experiment];
        let mut workload = self.ledger.workload(place).clone();
        let (metrics, order) = (&experiment.metrics, &experiment.metric_order);
        judge(&mut workload, metrics, order, self.schedule.margin_pct);
        let primary = experiment.wanted(None, &workload).map(|(name, _)| name);
        let decides = |one: &&Comparison| Some(one.metric.as_str()) == primary;
        let deciding = workload.comparisons.iter().filter(decides);
        deciding.map(|one| one.verdict).collect()
    }

    /// Returns the number of blocks that makes every arm's interval as narrow as wanted.
    fn wanted(&self, place: Place, rule: Stopping) -> Option<u32> {
        let experiment = &self.ledger.result().experiments[place.experiment];
        let workload = self.ledger.workload(place);
        let (primary, _) = experiment.wanted(None, workload)?;
        let (baseline, others) = workload.arms.split_first()?;
        let control = workload.control.get(primary)?;
        let wanted = others.iter().filter(|arm| arm.na.is_none()).map(|arm| {
            let (a, b) = (baseline.samples.get(primary)?, arm.samples.get(primary)?);
            let blocks = Blocks::of(a, Some(&control.samples), b);
            rule.blocks_wanted(&blocks.effects(), &blocks)
        });
        wanted.collect::<Option<Vec<u32>>>()?.into_iter().max()
    }
}

/// True if a single arm ran as often and as long as its rule wants.
fn has_enough_runs(workload: &WorkloadResult) -> bool {
    let rule = workload.params.get(ENOUGH_RUNS);
    let rule = rule.and_then(|rule| EnoughRuns::deserialize(rule).ok());
    let times = workload.arms.first().and_then(|arm| arm.samples.get(WALL));
    rule.zip(times).is_some_and(|(rule, times)| {
        let seconds: f64 = times.iter().flatten().sum();
        times.len() >= rule.runs as usize && seconds >= rule.seconds
    })
}
