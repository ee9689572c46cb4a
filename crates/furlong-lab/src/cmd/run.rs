//! `furlong run`: experiments, from their plans to a verdict.

use std::process::ExitCode;

use super::enough::Enough;
use crate::error::Error;
use crate::fleet::{On, Where, submit};
use crate::measure::campaign::End;
use crate::measure::counters;
use crate::measure::interrupt::Interrupt;
use crate::measure::process::Processes;
use crate::measure::progress::expected_s;
use crate::measure::sampler::{Pass, Sampler};
use crate::measure::select::{Selection, check_files};
use crate::model::schedule::{Batch, ScheduledExperiment, ScheduledWorkload};
use crate::model::{Counters, Experiment, Profile, Schedule, TOUR_S};
use crate::nearest::named;
use crate::options::{FailOn, Marks, RESUME, Settings, Showing, percent, seconds};
use crate::peers;
use crate::report::quantity::counted;
use crate::session::{Session, new_seed};
use crate::talk::Voice;
use furlong_stats::stopping::Stopping;
use furlong_stats::verdict::BLOCKS_MIN;

const EXAMPLES: &str = "\
Examples:
  furlong run
  furlong run iova-gap --workloads aligned --blocks 20
  furlong run tree-order --workloads plain --early --max-time 60
  furlong run iova-gap --profile smoke --db none
  furlong run tree-order --workloads plain --on slurm --blocks 12 --slurm=--partition=bench

Defaults can stand in furlong.toml, in this directory or one above it, named like the options:
  profile = \"full\"
  html = \"report.html\"";

/// Experiments to run, the amount of measuring, and the destinations of the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Experiments, by their names in `furlong list` [default: the tour, a minute of all systems]
    #[arg(value_name = "EXPERIMENT", conflicts_with = RESUME)]
    pub experiments: Vec<String>,
    /// Run all experiments
    #[arg(long, conflicts_with_all = ["experiments", RESUME])]
    pub all: bool,
    /// Amount of measuring [default: quick; tour if no experiment is named]
    #[arg(long, conflicts_with = RESUME)]
    pub profile: Option<Profile>,
    /// Blocks of each workload, or their maximum; a verdict needs 6 [default: the profile's, with
    /// --early at most 30, with --until at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[arg(allow_hyphen_values = true, conflicts_with = RESUME)]
    pub blocks: Option<u32>,
    /// Conditions under which a workload ends.
    #[command(flatten)]
    pub enough: Enough,
    /// Seed of every order and every input [default: a random one]
    #[arg(long, value_name = "S", allow_hyphen_values = true, conflicts_with = RESUME)]
    pub seed: Option<u64>,
    /// Margin: a difference within this many per cent does not matter [default: as declared]
    #[arg(long, value_name = "PCT", value_parser = percent, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub margin: Option<f64>,
    /// Run only these arms; the baseline is the experiment's own or else the first named
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = RESUME)]
    pub arms: Vec<String>,
    /// Run only these workloads, under any profile
    #[arg(long, value_name = "W,..", value_delimiter = ',', conflicts_with = RESUME)]
    pub workloads: Vec<String>,
    /// Counters besides the clock
    #[arg(long, value_name = "WHICH", conflicts_with = RESUME)]
    pub counters: Option<Counters>,
    /// Treat a sample that takes longer as failed [default: by the length of a sample]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    #[arg(conflicts_with = RESUME)]
    pub timeout: Option<f64>,
    /// Do as many operations as the document that an experiment comes from, instead of as many as
    /// its plan's time allows
    #[arg(long, conflicts_with = RESUME)]
    pub seed_sizes: bool,
    /// Resume a run that was interrupted or killed; a prefix of its name is enough
    #[arg(long, value_name = "ID", conflicts_with = "on")]
    pub resume: Option<String>,
    /// Words for the record.
    #[command(flatten)]
    pub marks: Marks,
    /// Exit with 3 if an arm gets this verdict in the primary metric
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Source and destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
    /// Place of measurement.
    #[command(flatten)]
    pub place: Where,
}

/// Runs the selected experiments, or resumes a run.
///
/// # Errors
///
/// Bad input, before anything is measured; afterwards the failure.
pub fn run(args: &Args, experiments: &[Experiment]) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let options = args.showing.options(&settings, &args.fail_on);
    options.targets.check()?;
    let voice = options.voice;
    args.place.check()?;
    if args.place.nodes.on == On::Slurm {
        let schedule = args.schedule(&settings, experiments, voice)?;
        return submit(&args.place, schedule, args.marks.words(&settings), options);
    }
    let session = match &args.resume {
        Some(id) => Session::resume(id, options, |schedule| {
            for (entry, found) in check_built(schedule, experiments)? {
                check_files(entry, found)?;
            }
            Ok(())
        })?,
        None => {
            let schedule = args.schedule(&settings, experiments, voice)?;
            Session::begin(schedule, args.marks.words(&settings), options)?
        }
    };
    let interrupt = Interrupt::listen()?;
    let schedule = &session.schedule;
    let passes = counters::passes(schedule.counters, schedule.profile, &interrupt)?;
    let mut processes = Processes::of_this(schedule.profile, interrupt.clone())?;
    session.measure(&mut processes, passes, &interrupt)
}

/// Calls `work` with a sampler and passes for the arms of a schedule; each sample is a process.
///
/// # Errors
///
/// This furlong does not have the arms, or something that they need is missing.
pub(crate) fn at_work(
    schedule: &Schedule,
    experiments: &[Experiment],
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn Sampler, Vec<Pass<'static>>) -> End,
) -> Result<End, Error> {
    check_built(schedule, experiments)?;
    let passes = counters::passes(schedule.counters, schedule.profile, interrupt)?;
    let mut processes = Processes::of_this(schedule.profile, interrupt.clone())?;
    Ok(work(&mut processes, passes))
}

impl Args {
    fn schedule(
        &self,
        settings: &Settings,
        experiments: &[Experiment],
        voice: Voice,
    ) -> Result<Schedule, Error> {
        let is_tour = self.experiments.is_empty() && self.workloads.is_empty() && !self.all;
        let usual = if is_tour {
            Profile::Tour
        } else {
            Profile::Quick
        };
        let profile = self.profile.or(settings.profile).unwrap_or(usual);
        let blocks = self.blocks.or(settings.blocks);
        let blocks = blocks.or(self.enough.customary_blocks());
        let names = [&self.experiments, &self.arms, &self.workloads].map(Vec::as_slice);
        let of_everything = blocks_of_everything(profile, names, peers::are_here());
        if let (None, Some(few)) = (blocks, of_everything) {
            voice.note(&format!(
                "only {few} blocks of each workload, because all experiments run with their peers: \
                 ask for more with --blocks, or name an experiment"
            ));
        }
        let selection = Selection {
            experiments: self.experiments.clone(),
            arms: self.arms.clone(),
            workloads: self.workloads.clone(),
            profile,
            blocks: blocks.or(of_everything),
            seed: self.seed.or(settings.seed).map_or_else(new_seed, Ok)?,
            margin_pct: self.margin.or(settings.margin),
            timeout_s: self.timeout.or(settings.timeout),
            counters: self
                .counters
                .or(settings.counters)
                .unwrap_or(match profile {
                    Profile::Tour => Counters::None,
                    _ => Counters::default(),
                }),
            seed_sizes: self.seed_sizes,
        };
        let mut selected = selection.resolve(experiments)?;
        let entries = selected.schedule.experiments.iter_mut();
        for scheduled in entries.flat_map(|entry| &mut entry.workloads) {
            let is_tour = profile == Profile::Tour && blocks.is_none();
            let rule = match self.enough.rule(scheduled.blocks) {
                Stopping::Planned if is_tour => Stopping::Answer { limit_s: TOUR_S },
                rule => rule,
            };
            self.enough.note(scheduled, rule);
        }
        for note in &selected.notes {
            voice.note(note);
        }
        // Missing counters are reported before the run begins.
        counters::check(selected.schedule.counters)?;
        voice.note(&outlook(&selected.schedule));
        Ok(selected.schedule)
    }
}

/// Returns what a run is going to do, and how long that takes. The time of a number of operations
/// that a plan gives is not known beforehand, nor the end of a workload that may stop early.
fn outlook(schedule: &Schedule) -> String {
    let experiments = &schedule.experiments;
    let workloads = schedule.workloads().count() as u64;
    let seconds = expected_s(schedule);
    let time = match seconds {
        short if short < 100.0 => format!("{short:.0} s"),
        long => format!("{:.0} min", long / 60.0),
    };
    let experiments = counted(experiments.len() as u64, "experiment");
    let workloads = counted(workloads, "workload");
    match schedule.profile {
        Profile::Tour => format!("the tour: a question to each of {experiments}, at most {time}"),
        profile => {
            let by_number = |one: &ScheduledWorkload| matches!(one.batch, Batch::Operations(_));
            let may_stop = |one: &ScheduledWorkload| {
                one.stopping() != Stopping::Planned || one.max_time_s().is_some()
            };
            let about = if schedule.workloads().any(by_number) {
                "at least"
            } else if schedule.workloads().any(may_stop) {
                "up to about"
            } else {
                "about"
            };
            format!("{profile}: {workloads} of {experiments}, {about} {time}")
        }
    }
}

/// Returns the blocks of a quick run of all experiments, arms and workloads with peers. It is one
/// more than a verdict needs, in case a sample fails, so that the whole takes minutes.
fn blocks_of_everything(profile: Profile, names: [&[String]; 3], with_peers: bool) -> Option<u32> {
    let is_everything = names.iter().all(|names| names.is_empty());
    let is_long = with_peers && is_everything && profile == Profile::Quick;
    is_long.then_some(BLOCKS_MIN as u32 + 1)
}

/// Checks that this furlong has the arms of a schedule. Returns each experiment's part of it with
/// the experiment.
fn check_built<'a>(
    schedule: &'a Schedule,
    experiments: &'a [Experiment],
) -> Result<Vec<(&'a ScheduledExperiment, &'a Experiment)>, Error> {
    if !schedule.subject.is_null() {
        return Err(Error::usage(
            "this run was started by `furlong compare`: resume it with that command",
        ));
    }
    let mut both = vec![];
    for entry in &schedule.experiments {
        let found = named("experiment", &entry.name, experiments, |one| &one.plan.name)?;
        for arm in &entry.arms {
            named("arm", arm, &found.arms, |arm| arm.name)?;
        }
        both.push((entry, found));
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use super::{Profile, blocks_of_everything};

    #[test]
    fn a_quick_run_of_everything_with_peers_has_one_block_more_than_a_verdict_needs() {
        let (none, named) = (vec![], vec!["iova-gap".to_owned()]);
        let blocks = |profile, names: &[String], with_peers| {
            blocks_of_everything(profile, [names, &none, &none], with_peers)
        };
        assert_eq!(blocks(Profile::Quick, &none, true), Some(7));
        assert_eq!(blocks(Profile::Quick, &none, false), None);
        assert_eq!(blocks(Profile::Quick, &named, true), None);
        assert_eq!(blocks(Profile::Full, &none, true), None);
        assert_eq!(blocks(Profile::Smoke, &none, true), None);
    }
}
