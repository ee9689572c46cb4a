//! Resolves the names on the command line to a schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::hash::fingerprint;
use crate::model::result::Kind;
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::model::{Arm, Counters, Experiment, Profile, README, Tour, Workload};
use crate::nearest::{named, unknown};

/// Name, in the record, of the files that arms measure.
const FILES: &str = "files";

/// The user's selection.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Names of experiments; empty means all.
    pub experiments: Vec<String>,
    /// Names of arms; empty means all.
    pub arms: Vec<String>,
    /// Names of workloads; empty means those of the profile.
    pub workloads: Vec<String>,
    /// Amount of measuring.
    pub profile: Profile,
    /// Blocks, if not those of the profile.
    pub blocks: Option<u32>,
    /// Seed of every order and every input.
    pub seed: u64,
    /// Margin instead of the declared ones, per cent.
    pub margin_pct: Option<f64>,
    /// Seconds after which a sample has failed.
    pub timeout_s: Option<f64>,
    /// Counters besides the arms' own.
    pub counters: Counters,
    /// Use the number of operations of the document that an experiment comes from.
    pub seed_sizes: bool,
}

/// A schedule, and notes for the user about the selection.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The schedule of the run.
    pub schedule: Schedule,
    /// Notes, a line each.
    pub notes: Vec<String>,
}

/// Workloads that are left out, by reason.
#[derive(Debug, Default)]
struct LeftOut(Vec<(String, Vec<String>)>);

impl LeftOut {
    fn add(&mut self, workload: &str, why: String) {
        let known = self.0.iter_mut().find(|(known, _)| *known == why);
        match known {
            Some((_, workloads)) => workloads.push(workload.to_owned()),
            None => self.0.push((why, vec![workload.to_owned()])),
        }
    }

    /// Formats one line per reason.
    fn lines(&self) -> Vec<String> {
        let line = |(why, workloads): &(String, Vec<String>)| match workloads.as_slice() {
            [workload] => format!("{workload}: {why}"),
            workloads => format!("{}: each {why}", workloads.join(", ")),
        };
        self.0.iter().map(line).collect()
    }
}

impl Selection {
    /// Looks up every name and builds the schedule.
    ///
    /// # Errors
    ///
    /// An unknown name, with the known ones and the nearest; or a selection that leaves nothing to
    /// compare.
    pub fn resolve(&self, known: &[Experiment]) -> Result<Selected, Error> {
        let chosen = self.experiments(known)?;
        self.check_names(&chosen)?;
        let mut notes = vec![];
        let mut entries = vec![];
        for experiment in &chosen {
            match self.entry(experiment, &mut notes)? {
                Ok(entry) => entries.push(entry),
                Err(why) => notes.push(format!("left out {}: {why}", experiment.plan.name)),
            }
        }
        if entries.is_empty() {
            let why = if notes.is_empty() {
                "no experiment is known".into()
            } else {
                notes.join("; ")
            };
            return Err(Error::usage(format!("nothing to run: {why}")));
        }
        let schedule = Schedule {
            profile: self.profile,
            seed: self.seed,
            margin_pct: self.margin_pct,
            timeout_s: self.timeout_s,
            budget_s: None,
            counters: self.counters,
            experiments: entries,
            subject: Value::Null,
        };
        Ok(Selected { schedule, notes })
    }

    fn experiments<'a>(&self, known: &'a [Experiment]) -> Result<Vec<&'a Experiment>, Error> {
        if self.experiments.is_empty() {
            let is_chosen =
                |one: &&Experiment| self.tour(one).is_some() || self.profile != Profile::Tour;
            return Ok(known.iter().filter(is_chosen).collect());
        }
        let mut chosen: Vec<&Experiment> = vec![];
        for name in &self.experiments {
            let found = named("experiment", name, known, |one| &one.plan.name)?;
            if !chosen.iter().any(|one| one.plan.name == *name) {
                chosen.push(found);
            }
        }
        Ok(chosen)
    }

    /// Returns the experiment's part in the tour, if that is what runs.
    fn tour<'a>(&self, experiment: &'a Experiment) -> Option<&'a Tour> {
        let tour = experiment.plan.tour.as_ref();
        tour.filter(|_| self.profile == Profile::Tour)
    }

    /// Checks that every named arm and workload exists in one of the chosen experiments.
    fn check_names(&self, chosen: &[&Experiment]) -> Result<(), Error> {
        let arms = chosen
            .iter()
            .flat_map(|one| one.plan.arms.iter().map(String::as_str));
        check("arm", &self.arms, arms.collect())?;
        let workloads = chosen.iter().flat_map(|one| one.plan.workloads.iter());
        check(
            "workload",
            &self.workloads,
            workloads.map(|workload| workload.name.as_str()).collect(),
        )
    }

    /// Builds the entry of one experiment; `Ok(Err(_))` holds the reason if there is nothing to do.
    fn entry(
        &self,
        experiment: &Experiment,
        notes: &mut Vec<String>,
    ) -> Result<Result<ScheduledExperiment, String>, Error> {
        let plan = &experiment.plan;
        if self.profile == Profile::Tour && plan.tour.is_none() {
            return Ok(Err("it has no part in the tour".to_owned()));
        }
        let arms = match self.arms_of(experiment, notes) {
            Ok(arms) => arms,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(name) = arms.iter().find(|name| experiment.arm(name).is_none()) {
            let plan = &plan.name;
            let text = format!("{plan}: the plan's arm `{name}` is not built in");
            return Err(Error::failed(text));
        }
        let mut left_out = LeftOut::default();
        let mut workloads = vec![];
        let mut facts = None;
        for workload in &plan.workloads {
            match self.scheduled(experiment, &arms, workload) {
                Ok(scheduled) => {
                    let facts = facts.get_or_insert_with(|| facts_of(experiment, &arms));
                    let mut facts = facts.clone();
                    if let Some(tour) = self.tour(experiment) {
                        facts.insert(README.to_owned(), json!(tour.readme));
                    }
                    workloads.push(ScheduledWorkload { facts, ..scheduled });
                }
                Err(Some(why)) => left_out.add(&workload.name, why),
                Err(None) => {}
            }
        }
        if workloads.is_empty() {
            let left_out = left_out.lines();
            return Ok(Err(if left_out.is_empty() {
                "it has none of the named workloads".to_owned()
            } else {
                left_out.join("; ")
            }));
        }
        let counted = |kind| self.counters != Counters::None || kind == Kind::Sampled;
        let metrics = plan.metrics.iter().enumerate();
        let metrics = metrics.filter(|(place, metric)| *place == 0 || counted(metric.kind));
        let counts = |name: &String| experiment.arm(name).is_none_or(|arm| arm.counts);
        let uncounted = arms.iter().filter(|name| !counts(name)).cloned();
        Ok(Ok(ScheduledExperiment {
            name: plan.name.clone(),
            comparison: None,
            question: match self.tour(experiment) {
                Some(tour) => tour.question.clone(),
                None => plan.question.clone(),
            },
            metrics: metrics.map(|(_, metric)| metric.clone()).collect(),
            uncounted: uncounted.collect(),
            arms,
            exact_operations: plan.exact_operations(self.profile),
            workloads,
            left_out: left_out.lines(),
        }))
    }

    /// Returns the arms to run, the baseline first, or the reason why there is nothing to compare.
    fn arms_of(
        &self,
        experiment: &Experiment,
        notes: &mut Vec<String>,
    ) -> Result<Vec<String>, String> {
        let plan = &experiment.plan;
        if self.arms.is_empty() {
            let tour = self.tour(experiment).map(|tour| tour.arms.to_vec());
            return Ok(tour.unwrap_or_else(|| plan.arms.clone()));
        }
        let mut seen = BTreeSet::new();
        let named = self
            .arms
            .iter()
            .filter(|arm| plan.arms.contains(arm) && seen.insert(*arm));
        let mut arms: Vec<String> = named.cloned().collect();
        if arms.len() < 2 {
            let one = arms
                .first()
                .map_or("none of the named arms".to_owned(), |arm| {
                    format!("only `{arm}` of the named arms, and nothing to compare it with")
                });
            return Err(format!("it has {one} (arms: {})", plan.arms.join(", ")));
        }
        match arms.iter().position(|arm| *arm == plan.arms[0]) {
            Some(place) => arms[..=place].rotate_right(1),
            None => notes.push(format!(
                "{}: the baseline is `{}`, the first arm named (the experiment's own is `{}`)",
                plan.name, arms[0], plan.arms[0]
            )),
        }
        Ok(arms)
    }

    /// Schedules one workload, or returns the reason for leaving it out, and whether to
    /// report it.
    fn scheduled(
        &self,
        experiment: &Experiment,
        arms: &[String],
        workload: &Workload,
    ) -> Result<ScheduledWorkload, Option<String>> {
        let plan = &experiment.plan;
        if self.workloads.is_empty() {
            let tour = self.tour(experiment);
            if tour.is_some_and(|tour| tour.workload != workload.name) {
                return Err(None);
            }
            if self.profile == Profile::Quick && !workload.quick {
                let why = "runs under --profile full, or when it is named";
                return Err(Some(why.to_owned()));
            }
        } else if !self.workloads.contains(&workload.name) {
            return Err(None);
        }
        let resolved = workload.under(self.profile);
        let mut na = BTreeMap::new();
        for arm in arms.iter().filter_map(|name| experiment.arm(name)) {
            let why = (arm.na)(&resolved);
            if let Some(why) = why.or_else(|| self.too_long(arm, &resolved)) {
                na.insert(arm.name.to_owned(), why);
            }
        }
        if arms.len() == na.len() {
            let cannot = |(arm, why): (&String, &String)| format!("`{arm}` cannot run it: {why}");
            let reasons: Vec<String> = na.iter().map(cannot).collect();
            return Err(Some(reasons.join("; ")));
        }
        let of_the_document = plan.seed_operations.filter(|_| self.seed_sizes);
        let batch = match of_the_document.or(resolved.operations) {
            Some(operations) => Batch::Operations(operations),
            None => Batch::Seconds(plan.batch_s(self.profile)),
        };
        let blocks = self.blocks.unwrap_or_else(|| plan.blocks(self.profile));
        Ok(ScheduledWorkload {
            workload: resolved,
            blocks,
            batch,
            na,
            facts: BTreeMap::new(),
        })
    }

    /// Returns the reason why a quick run leaves out a slow arm on a workload that was not named.
    fn too_long(&self, arm: &Arm, workload: &Workload) -> Option<String> {
        if self.profile != Profile::Quick || !self.workloads.is_empty() {
            return None;
        }
        let why = (arm.waits)(workload)?;
        Some(format!("{why}; runs when the workload is named"))
    }
}

/// Returns the record's facts about the files that arms measure.
fn facts_of(experiment: &Experiment, arms: &[String]) -> BTreeMap<String, Value> {
    let mut files = (experiment.files)();
    files.retain(|(arm, _)| arms.iter().any(|name| name == arm));
    let described = files.into_iter().map(|(arm, path)| {
        let found = File::open(&path).and_then(fingerprint).unwrap_or_default();
        let hash = format!("{found:016x}");
        let about = json!({ "path": place_of(&path), "fingerprint": hash });
        (arm.to_owned(), about)
    });
    let described: Map<String, Value> = described.collect();
    let named = (!described.is_empty()).then(|| (FILES.to_owned(), described.into()));
    named.into_iter().collect()
}

/// Checks that the files that arms measure are those of which figures are stored.
///
/// # Errors
///
/// A file has changed since the run began.
pub(crate) fn check_files(
    scheduled: &ScheduledExperiment,
    experiment: &Experiment,
) -> Result<(), Error> {
    let now = facts_of(experiment, &scheduled.arms);
    for workload in &scheduled.workloads {
        let then = workload.facts.get(FILES).and_then(Value::as_object);
        for (arm, about) in then.into_iter().flatten() {
            let now = now.get(FILES).map_or(&Value::Null, |files| &files[arm]);
            if now["fingerprint"] != about["fingerprint"] {
                return Err(Error::usage(format!(
                    "this run cannot be resumed: {} of arm `{arm}` is another file than when it \
                     began: begin a new run",
                    about["path"].as_str().unwrap_or("the file")
                )));
            }
        }
    }
    Ok(())
}

/// Returns the name of a file in the record. A file in a repository is named from the repository's
/// root, so that no record names a user's folders. A system file keeps its whole path.
fn place_of(path: &Path) -> String {
    let mut above = path.ancestors().skip(1);
    let root = above.find(|folder| folder.join(".git").exists());
    let inside = root.and_then(|root| path.strip_prefix(root).ok());
    inside.unwrap_or(path).display().to_string()
}

fn check(kind: &str, asked: &[String], mut known: Vec<&str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    known.retain(|name| seen.insert(*name));
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(unknown(kind, name, &known)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
