//! Benchmarks of two revisions as the workloads of a comparison.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::amount::Usual;
use super::subject::{Filled, FilledArm};
use super::{How, Sides};
use crate::error::Error;
use crate::fleet::On;
use crate::measure::benchmarks::{Benchmark, Benchmarks, InLayouts, Programs, metric};
use crate::measure::instructions::of_benchmarks;
use crate::measure::interrupt::Interrupt;
use crate::measure::sampler::{Pass, When};
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::model::{Counters, Workload};
use crate::options::Settings;
use crate::record::comparison::COMPARE;
use furlong_stats::stopping::{FAMILY, Stopping};

/// Timed seconds of a sample, as those of `cargo bench`.
pub(in crate::cmd) const SAMPLE_S: f64 = 0.1;

/// Seconds for a benchmark, if the user gives none: there may be many.
const ANSWER_S: f64 = 10.0;

/// Data that a resumed comparison of benchmarks needs besides the schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::cmd) struct Suite {
    /// Benchmarks that both revisions have.
    pub(in crate::cmd) benchmarks: Vec<Benchmark>,
    /// The others, each with the reason.
    #[serde(default, skip_serializing)]
    pub(in crate::cmd) left_out: Vec<String>,
    /// When the functions behind a difference are named.
    #[serde(default)]
    pub(in crate::cmd) why: Option<When>,
    /// Code layouts of the programs, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cmd) layouts: Option<InLayouts>,
}

/// Returns the sampler of a schedule of benchmarks, or `None` if it has commands.
pub(super) fn sampler(
    schedule: &Schedule,
    interrupt: &Interrupt,
) -> Result<Option<Benchmarks>, Error> {
    let Ok(suite) = serde_json::from_value::<Suite>(schedule.subject.clone()) else {
        return Ok(None);
    };
    let arms = schedule.experiments.iter().flat_map(|entry| &entry.arms);
    let programs = Programs::new(interrupt.clone())?;
    let files = suite.benchmarks.iter().flat_map(|one| &one.programs);
    if let Some(gone) = files.map(|one| &one.file).find(|file| !file.is_file()) {
        let gone = gone.display();
        return Err(Error::usage(format!(
            "{gone} is gone: furlong ab builds it again"
        )));
    }
    Ok(Some(Benchmarks::new(
        programs,
        arms.cloned().collect(),
        (suite.benchmarks, suite.layouts),
    )))
}

/// Returns an experiment on benchmarks: all of them are one family.
pub(in crate::cmd) fn experiment(
    suite: &Suite,
    sides: &Sides,
    names: Vec<String>,
    blocks: u32,
) -> ScheduledExperiment {
    let workloads = suite.benchmarks.iter().map(|one| {
        let mut facts = sides.facts.clone();
        facts.insert(FAMILY.to_owned(), json!(suite.benchmarks.len()));
        ScheduledWorkload {
            workload: Workload {
                name: one.workload.clone(),
                about: "a benchmark of both revisions".to_owned(),
                quick: true,
                ..Workload::default()
            },
            blocks,
            batch: Batch::Seconds(SAMPLE_S),
            na: BTreeMap::new(),
            facts,
        }
    });
    ScheduledExperiment {
        name: COMPARE.to_owned(),
        comparison: sides.comparison.clone(),
        question: format!(
            "Do the benchmarks of {} take other times?",
            names.join(" and ")
        ),
        metrics: vec![metric()],
        workloads: workloads.collect(),
        arms: names,
        exact_operations: 1,
        left_out: suite.left_out.clone(),
        ..ScheduledExperiment::default()
    }
}

/// Returns the passes of a schedule of benchmarks.
pub(super) fn passes(
    schedule: &Schedule,
    interrupt: &Interrupt,
) -> Result<Vec<Pass<'static>>, Error> {
    let suite = serde_json::from_value::<Suite>(schedule.subject.clone()).unwrap_or_default();
    let when = match schedule.counters {
        Counters::Callgrind => Some(When::Before),
        _ => suite.why,
    };
    let Some((when, benchmarks)) = when.zip(sampler(schedule, interrupt)?) else {
        return Ok(vec![]);
    };
    let pass = of_benchmarks(benchmarks)?;
    Ok(vec![Pass { when, ..pass }])
}

impl How {
    /// Returns the schedule of benchmarks: all of them are one family.
    pub(super) fn schedule_of(
        &self,
        suite: &Suite,
        sides: &Sides,
        settings: &Settings,
    ) -> Result<Schedule, Error> {
        self.check_benchmarks()?;
        let arm = |name: &String| FilledArm {
            suggested: name.clone(),
            ..FilledArm::default()
        };
        let filled = Filled {
            workload: String::new(),
            arms: sides.names.iter().map(arm).collect(),
        };
        let names = self.names.arms(&filled, &[])?;
        let names: Vec<String> = names.into_iter().map(|name| name.text).collect();
        let usual = match self.place.nodes.on {
            On::Local => Usual::Answer,
            On::Slurm => Usual::Fleet,
        };
        let (blocks, rule) = self.amount.rule(settings, &self.enough, usual)?;
        let rule = match (rule, self.enough.max_time) {
            (Stopping::Answer { .. }, None) => Stopping::Answer { limit_s: ANSWER_S },
            (rule, _) => rule,
        };
        let mut entry = experiment(suite, sides, names, blocks);
        entry.comparison = self.name.clone().or(entry.comparison);
        for scheduled in &mut entry.workloads {
            self.enough.note(scheduled, rule);
            self.amount.note(scheduled, settings, usual);
        }
        let suite = Suite {
            why: self.why(sides)?,
            ..suite.clone()
        };
        let counters = self.counters.unwrap_or(Counters::None);
        self.planned(settings, counters, entry, &suite)
    }

    /// Refuses options that only commands have.
    fn check_benchmarks(&self) -> Result<(), Error> {
        let whole = matches!(self.counters, Some(Counters::Hw | Counters::Cachesim));
        let of_commands = [
            ("--prepare", !self.prepare.is_empty()),
            ("--conclude", !self.conclude.is_empty()),
            ("--setup", self.setup.is_some()),
            ("--cleanup", self.cleanup.is_some()),
            ("--parameter-scan", !self.parameter_scan.is_empty()),
            ("--parameter-list", !self.parameter_list.is_empty()),
            ("--metric", !self.metric.is_empty()),
            ("--primary", self.primary.is_some()),
            ("--same-output", self.same_output),
            ("--shell", self.shell.is_some() || self.no_shell),
            ("--output", !self.outputs().is_empty()),
            ("--ignore-failure", self.ignore_failure.is_some()),
            ("--warmup", self.amount.warmup > 0),
            ("--reference", self.names.reference.is_some()),
            ("--counters hw and cachesim", whole),
        ];
        match of_commands.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::usage(format!(
                "{option} is for commands, not for benchmarks: give a command after --"
            ))),
            None => Ok(()),
        }
    }
}
