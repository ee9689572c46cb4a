//! Everything that runs the commands or benchmarks of a schedule, and the run.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use super::benchmarks;
use super::subject::{Subject, input};
use crate::error::Error;
use crate::measure::campaign::End;
use crate::measure::commands::comparison::{CommandComparison, Failures, Rules, Timed};
use crate::measure::commands::duet::Duet;
use crate::measure::instructions;
use crate::measure::interrupt::Interrupt;
use crate::measure::sampler::{Pass, Sampler, When};
use crate::model::Counters;
use crate::model::schedule::Schedule;
use crate::options::{Marks, Options};
use crate::report::quantity::counted;
use crate::session::Session;
use crate::talk::Voice;
use furlong_stats::stopping::Stopping;
use furlong_stats::verdict::BLOCKS_MIN;

/// Measures a schedule, or the rest of a stored one.
pub(in crate::cmd) fn measure(
    resume: Option<&str>,
    options: Options<'_>,
    words: Marks,
    schedule: impl FnOnce() -> Result<Schedule, Error>,
) -> Result<ExitCode, Error> {
    let voice = options.voice;
    let interrupt = Interrupt::listen()?;
    let (session, ready) = match resume {
        Some(id) => {
            let mut made = None;
            let session = Session::resume(id, options, |schedule| {
                // Its programs may not even be here.
                Subject::of(schedule).map_or(Ok(()), |subject| subject.check_folder())?;
                let ready = Ready::new(schedule, &interrupt)?;
                if ready.commands.is_some() {
                    Subject::of(schedule)?.check_programs()?;
                }
                made = Some(ready);
                Ok(())
            })?;
            (session, made)
        }
        None => {
            let schedule = schedule()?;
            let ready = Ready::new(&schedule, &interrupt)?;
            if let Some(note) = &ready.note {
                voice.note(note);
            }
            if let Some(limit) = limit(&schedule) {
                voice.note(&limit);
            }
            (Session::begin(schedule, words, options)?, Some(ready))
        }
    };
    let ready = ready.ok_or_else(|| Error::failed("the stored run was not checked"))?;
    ready.work(voice, |sampler, passes| {
        session.measure(sampler, passes, &interrupt)
    })
}

/// Calls `work` with a sampler and passes for the commands of a schedule, then cleans up.
///
/// # Errors
///
/// Something that they need is missing.
pub(crate) fn at_work(
    schedule: &Schedule,
    interrupt: &Interrupt,
    work: impl FnOnce(&mut dyn Sampler, Vec<Pass<'static>>) -> End,
) -> Result<End, Error> {
    Ok(Ready::new(schedule, interrupt)?.work(Voice::Normal, work))
}

/// Returns the longest time that the comparison takes, if its commands have no number of runs.
fn limit(schedule: &Schedule) -> Option<String> {
    let workloads = &schedule.experiments.first()?.workloads;
    let first = workloads.first()?;
    if let Some(budget_s) = schedule.budget_s {
        let benchmarks = counted(workloads.len() as u64, "benchmark");
        return Some(format!("{benchmarks}, at most {budget_s} s together"));
    }
    let Stopping::Answer { limit_s } = first.stopping() else {
        return None;
    };
    let least = first.blocks.min(first.min_blocks().max(BLOCKS_MIN as u32));
    let many = workloads.len();
    let each = (many > 1).then(|| format!(" for each of {many} workloads"));
    let each = each.unwrap_or_default();
    Some(format!(
        "at most {limit_s} s or {least} blocks{each}; ends when the verdict is certain"
    ))
}

/// Everything that runs the commands or benchmarks of a schedule.
struct Ready {
    sampler: Box<dyn Sampler>,
    /// Commands, which are cleaned up at the end.
    commands: Option<Rc<CommandComparison>>,
    passes: Vec<Pass<'static>>,
    /// A note for the user about the way they are run.
    note: Option<String>,
}

impl Ready {
    /// Checks everything that will be needed, before anything is stored or measured.
    pub(super) fn new(schedule: &Schedule, interrupt: &Interrupt) -> Result<Self, Error> {
        if let Some(benchmarks) = benchmarks::sampler(schedule, interrupt)? {
            return Ok(Self {
                sampler: Box::new(benchmarks),
                commands: None,
                passes: benchmarks::passes(schedule, interrupt)?,
                note: None,
            });
        }
        let subject = Subject::of(schedule)?;
        let (workloads, note) = subject.workloads(schedule)?;
        input(&subject.input)?;
        let rules = Rules {
            workloads,
            events: subject.events()?,
            patterns: subject.patterns()?,
            same_output: subject.same_output,
            warmup: subject.warmup,
            input: subject.input,
            limit: schedule.timeout_s.map(Duration::from_secs_f64),
            failures: match subject.ignore_failure {
                true if subject.ignored_codes.is_empty() => Failures::Count,
                true => Failures::CountThese(subject.ignored_codes),
                false => Failures::End,
            },
        };
        let comparison = CommandComparison::new(rules, interrupt.clone());
        let comparison = comparison.map_err(|error| Error::failed(error.to_string()))?;
        let passes = match schedule.counters {
            Counters::Callgrind => vec![instructions::of_commands(&comparison, false)?],
            Counters::Cachesim => vec![instructions::of_commands(&comparison, true)?],
            Counters::Auto | Counters::None | Counters::Hw => {
                let undecided = subject.count_if_undecided.then_some(When::IfUndecided);
                let when = undecided.into_iter().chain(subject.why);
                let pass = |when| {
                    let pass = instructions::of_commands(&comparison, false)?;
                    Ok(Pass { when, ..pass })
                };
                when.map(pass).collect::<Result<_, Error>>()?
            }
        };
        Ok(Self {
            sampler: match subject.duet {
                None => Box::new(Timed(Rc::clone(&comparison))),
                Some(processors) => Box::new(Duet::new(&comparison, processors)),
            },
            commands: Some(comparison),
            passes,
            note,
        })
    }

    /// Lets `work` run the commands, and cleans up after the last of them.
    pub(super) fn work<T>(
        mut self,
        voice: Voice,
        work: impl FnOnce(&mut dyn Sampler, Vec<Pass<'static>>) -> T,
    ) -> T {
        let done = work(&mut *self.sampler, self.passes);
        for failure in self.commands.iter().flat_map(|commands| commands.leave()) {
            voice.warn(&failure);
        }
        done
    }
}
