//! Decides when a workload has enough blocks before its maximum.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use super::Campaign;
use crate::model::result::{Comparison, Verdict};
use crate::model::schedule::{MAX_TIME_S, ScheduledWorkload};
use crate::record::ledger::Place;
use furlong_stats::blocks::Blocks;
use furlong_stats::judge;
use furlong_stats::stopping::{STOPPED, Stopped, Stopping};

/// Time limit of a workload.
pub(super) struct Clock {
    began: Instant,
    limit: Option<Duration>,
}

impl Clock {
    /// Starts with a workload, also with a resumed one.
    pub(super) fn new(scheduled: &ScheduledWorkload) -> Self {
        let limit = scheduled
            .facts
            .get(MAX_TIME_S)
            .and_then(serde_json::Value::as_f64);
        Self {
            began: Instant::now(),
            limit: limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        }
    }

    fn is_over(&self) -> bool {
        self.limit
            .is_some_and(|limit| self.began.elapsed() >= limit)
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
        (blocks > 0 && clock.is_over()).then_some(Stopped::Time)
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
    fn is_certain(&self, place: Place) -> bool {
        let experiment = &self.ledger.result().experiments[place.experiment];
        let mut workload = self.ledger.workload(place).clone();
        let (metrics, order) = (&experiment.metrics, &experiment.metric_order);
        judge(&mut workload, metrics, order, self.schedule.margin_pct);
        let primary = order.first();
        let decides = |one: &&Comparison| Some(&one.metric) == primary;
        let mut deciding = workload.comparisons.iter().filter(decides).peekable();
        deciding.peek().is_some() && deciding.all(|one| one.verdict != Verdict::Inconclusive)
    }

    /// Returns the number of blocks that makes every arm's interval as narrow as wanted.
    fn wanted(&self, place: Place, rule: Stopping) -> Option<u32> {
        let primary = self.ledger.result().experiments[place.experiment]
            .metric_order
            .first()?;
        let workload = self.ledger.workload(place);
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
