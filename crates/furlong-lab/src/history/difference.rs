//! Two runs compared.
//!
//! An arm's absolute figure depends as much on changes of the machine between two runs as on the
//! arm. Its ratio to the baseline, which ran in the same blocks, does not. Arms are therefore
//! compared by this ratio, and only the baseline by its absolute figure.

use serde::Serialize;

use super::series::{
    are_alike, by_layout, conditions, inputs_differ, level, own_name, replicates, samples,
};
use crate::model::result::{ExperimentResult, Kind, Metric, ResultFile, Verdict, WorkloadResult};
use furlong_stats::blocks::Blocks;
use furlong_stats::control::{Floor, floor};
use furlong_stats::describe::{Moments, mean};
use furlong_stats::judge::MARGIN_PCT;
use furlong_stats::verdict::{Check, Rule, Scale};
use furlong_stats::welch::Unpooled;

/// One figure of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The experiment.
    pub experiment: String,
    /// The workload.
    pub workload: String,
    /// The arm.
    pub arm: String,
    /// The arm that it is a ratio to; `None` for an absolute figure.
    pub baseline: Option<String>,
    /// Name of the metric.
    pub metric: String,
    /// Definition of the metric.
    pub about: Metric,
    /// The earlier run's figure.
    pub before: f64,
    /// The later run's figure.
    pub after: f64,
    /// Change, in per cent.
    pub effect_pct: f64,
    /// 95 % interval of the change; `None` for an exact metric, or with a single block.
    pub ci95_pct: Option<[f64; 2]>,
    /// The greater noise floor of the two runs, in per cent; it decides nothing.
    pub floor_pct: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The comparable figures of two runs, and the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// In the order of the later run.
    pub found: Vec<Difference>,
    /// Figures that could not be compared, each with the reason.
    pub left_out: Vec<String>,
}

/// Compares `after` with `before`, by the margins with which `after` was judged.
pub fn differences(before: &ResultFile, after: &ResultFile, metric: Option<&str>) -> Differences {
    let mut all = Differences::default();
    let seeds = [before.run.seed, after.run.seed];
    for later in &after.experiments {
        let name = later.filed_as();
        let Some(earlier) = before.experiments.iter().find(|one| one.filed_as() == name) else {
            let id = &before.run.id;
            all.left_out.push(format!("{name}: not in run {id}"));
            continue;
        };
        for workload in &later.workloads {
            all.workload([earlier, later], seeds, workload, metric);
        }
    }
    all
}

impl Differences {
    fn workload(
        &mut self,
        [earlier, later]: [&ExperimentResult; 2],
        seeds: [u64; 2],
        workload: &WorkloadResult,
        metric: Option<&str>,
    ) {
        let place = format!("{}, {}", later.name, workload.name);
        let mut workloads = earlier.workloads.iter();
        let Some(old) = workloads.find(|one| one.name == workload.name) else {
            let text = format!("{place}: not in the earlier run");
            return self.left_out.push(text);
        };
        if conditions(old) != conditions(workload) {
            let text = format!("{place}: the two runs used different parameters");
            return self.left_out.push(text);
        }
        let wanted = later.wanted(metric, workload);
        let (Some((name, about)), Some((first, others))) = (wanted, workload.arms.split_first())
        else {
            return;
        };
        let before = earlier.metrics.get(name);
        if before.is_some_and(|before| !are_alike(before, about)) {
            let text = format!("{place}: {name} was measured in another way in the earlier run");
            return self.left_out.push(text);
        }
        if about.kind == Kind::Exact && inputs_differ(workload, seeds) {
            let [one, other] = seeds;
            let text = format!(
                "{place}: {name} is an exact count, and the inputs differ: the runs have the seeds \
                 {one} and {other} (--seed makes them equal)"
            );
            return self.left_out.push(text);
        }
        let baseline = first.name.as_str();
        let pair = Pair {
            earlier: old,
            later: workload,
            metric: name,
            about,
        };
        let mut arms = vec![(baseline, None)];
        let able = others.iter().filter(|arm| arm.na.is_none());
        arms.extend(able.map(|arm| (arm.name.as_str(), Some(baseline))));
        for (arm, baseline) in arms {
            match pair.of(arm, baseline) {
                Some(difference) => self.found.push(Difference {
                    experiment: later.name.clone(),
                    ..difference
                }),
                None => self
                    .left_out
                    .push(format!("{place}: {arm} has no {name} in both runs")),
            }
        }
    }
}

/// A workload in two runs, by one metric.
struct Pair<'a> {
    earlier: &'a WorkloadResult,
    later: &'a WorkloadResult,
    metric: &'a str,
    about: &'a Metric,
}

impl Pair<'_> {
    fn of(&self, arm: &str, baseline: Option<&str>) -> Option<Difference> {
        let old = |arm| own_name(self.earlier, self.later, arm);
        let relative = baseline.filter(|_| self.about.kind == Kind::Sampled);
        let (earlier, later) = match relative {
            Some(baseline) => (
                replicates(self.earlier, old(baseline), old(arm), self.metric)?,
                replicates(self.later, baseline, arm, self.metric)?,
            ),
            None => (
                self.logarithms(self.earlier, old(arm))?,
                self.logarithms(self.later, arm)?,
            ),
        };
        let floors = self.floors(arm);
        let (effect, interval) = change(&earlier, &later)?;
        let mut judged = self.later.comparisons.iter();
        let judged = judged.find(|one| one.metric == self.metric);
        let declared = self.about.margin_pct.unwrap_or(MARGIN_PCT);
        let margin_pct = judged.map_or(declared, |one| one.margin_pct);
        let rule = Rule {
            better: self.about.better,
            margin: Scale::Log.distance(margin_pct),
            control: match (self.about.kind, &floors) {
                (Kind::Exact, _) => Check::Passed,
                (Kind::Sampled, None) => Check::Missing,
                (Kind::Sampled, Some(both)) => {
                    let checks = both.map(|floor| floor.check(margin_pct));
                    let failed = checks.contains(&Check::Failed);
                    if failed { Check::Failed } else { Check::Passed }
                }
            },
        };
        let (interval, n) = match self.about.kind {
            // An exact value has no interval and needs no repetition.
            Kind::Exact => (None, usize::MAX),
            Kind::Sampled => (interval, earlier.len().min(later.len())),
        };
        let verdict = match (interval, self.about.kind) {
            (None, Kind::Sampled) => Verdict::Inconclusive,
            (interval, _) => rule.decide(interval.unwrap_or([effect; 2]), n),
        };
        let ratio = |effects: &[f64]| mean(effects).exp();
        let (before, after) = match relative {
            Some(_) => (ratio(&earlier), ratio(&later)),
            None => (
                level(self.earlier, old(arm), self.metric)?,
                level(self.later, arm, self.metric)?,
            ),
        };
        Some(Difference {
            experiment: String::new(),
            workload: self.later.name.clone(),
            arm: arm.to_owned(),
            baseline: relative.map(str::to_owned),
            metric: self.metric.to_owned(),
            about: self.about.clone(),
            before,
            after,
            effect_pct: Scale::Log.pct(effect),
            ci95_pct: interval.map(|ends| ends.map(|end| Scale::Log.pct(end))),
            floor_pct: floors.map(|[before, after]| before.pct.max(after.pct)),
            verdict,
        })
    }

    fn logarithms(&self, workload: &WorkloadResult, arm: &str) -> Option<Vec<f64>> {
        let all = samples(workload, arm, self.metric)?.iter().enumerate();
        let there = all.filter_map(|(place, value)| Some((place, (*value)?)));
        let (places, values): (Vec<usize>, Vec<f64>) = there.unzip();
        if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let logarithms = values.iter().map(|value| value.ln()).collect();
        Some(by_layout(workload, &places, logarithms))
    }

    /// The noise floors of the two runs.
    fn floors(&self, arm: &str) -> Option<[Floor; 2]> {
        let of = |workload: &WorkloadResult, arm: &str| {
            let baseline = &workload.arms.first()?.name;
            let control = &workload.control.get(self.metric)?.samples;
            let blocks = Blocks::of(
                samples(workload, baseline, self.metric)?,
                Some(control),
                samples(workload, arm, self.metric)?,
            );
            floor(&blocks.control_effects(), blocks.scale())
        };
        let old = own_name(self.earlier, self.later, arm);
        Some([of(self.earlier, old)?, of(self.later, arm)?])
    }
}

/// The difference of the means and its Welch interval, which needs two values per side.
fn change(before: &[f64], after: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    let effect = mean(after) - mean(before);
    let moments = Moments::of(before).zip(Moments::of(after));
    let interval = moments.map(|(before, after)| {
        let unpooled = Unpooled::from_moments(before, after);
        match unpooled.standard_error > 0.0 {
            true => unpooled.interval(0.95),
            false => [unpooled.difference; 2],
        }
    });
    effect.is_finite().then_some((effect, interval))
}
