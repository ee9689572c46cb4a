//! One invocation that measures, from its schedule to its exit code: the common part of `run` and
//! `compare`.

mod chance;
mod crowded;

use std::process::ExitCode;

use jiff::Zoned;

use crate::archive;
use crate::error::{Error, Exit};
use crate::measure::campaign::{Campaign, End, LEFT_OUT};
use crate::measure::interrupt::Interrupt;
use crate::measure::progress::Progress;
use crate::measure::sampler::{Pass, Sampler};
use crate::model::Schedule;
use crate::model::result::{ArmResult, Kind, ResultFile, Run, WorkloadResult};
use crate::options::{Marks, Options, default_database};
use crate::peers;
use crate::publish;
use crate::record::build;
use crate::record::class::this_machine;
use crate::record::judged::judged;
use crate::record::ledger::Ledger;
use crate::record::machine::{CpuTime, Files};
use crate::record::store::{Status, redacted};
use crate::record::{STEAL_MAX_PCT, disturbing_load, stolen_pct};
use crate::talk::{self, quoted};
pub(crate) use chance::new_id;
pub use chance::new_seed;
pub(crate) use crowded::crowded;
use furlong_stats::stopping::Stopped;

/// A running invocation.
pub struct Session<'a> {
    /// Everything that the run does.
    pub(crate) schedule: Schedule,
    /// The results, which are written to it as they are measured.
    pub(crate) ledger: Ledger,
    /// Options of the invocation.
    pub(crate) options: Options<'a>,
    began: Option<CpuTime>,
}

impl<'a> Session<'a> {
    /// Begins a run. If the store cannot be used, this is reported and the run goes on without it.
    ///
    /// # Errors
    ///
    /// The system has no random numbers for the name.
    pub fn begin(
        schedule: Schedule,
        words: Marks,
        options: Options<'a>,
    ) -> Result<Session<'a>, Error> {
        let run = new_run(&schedule, words)?;
        Ok(Session::open(run, schedule, options))
    }

    /// Begins a run that has a name already.
    pub(crate) fn open(run: Run, schedule: Schedule, options: Options<'a>) -> Session<'a> {
        let mut result = schedule.blank(run);
        let (store, warnings) = archive::begin(&options, &result, &schedule);
        result.run.warnings = warnings;
        if result.run.machine.fleet.is_none() {
            result.run.warnings.extend(spoilers(&result));
        }
        for warning in &result.run.warnings {
            options.voice.warn(warning);
        }
        let ledger = Ledger::new(result, store, options.voice);
        Session::of(schedule, ledger, options)
    }

    /// Returns a session with a ledger that may have results already.
    pub(crate) fn of(schedule: Schedule, ledger: Ledger, options: Options<'a>) -> Session<'a> {
        Session {
            schedule,
            ledger,
            options,
            began: Files::default().cpu_time(),
        }
    }

    /// Resumes a stored run.
    ///
    /// # Shapes
    ///
    /// `fits` checks that this invocation can do the work on the schedule.
    ///
    /// # Errors
    ///
    /// The run does not exist or cannot be resumed here, with the reason.
    pub fn resume(
        id: &str,
        options: Options<'a>,
        fits: impl FnOnce(&Schedule) -> Result<(), Error>,
    ) -> Result<Session<'a>, Error> {
        let mut store = archive::open_database(options.database, options.settings)?;
        let id = archive::find(&store, id, options.settings.machine_class.as_deref())?;
        let saved = store.load(&id)?;
        archive::same_conditions(&saved)?;
        let schedule = store.schedule(&id)?;
        fits(&schedule)?;
        store.claim(&id)?;
        // As its last owner left it, who may have gone on until now.
        let saved = store.load(&id)?;
        let planned = schedule.workloads().map(|one| one.blocks as usize);
        let planned: usize = planned.sum();
        let finished = blocks(&saved.result);
        options.voice.note(&format!(
            "run {id} continues: {finished} of {planned} blocks are done"
        ));
        let ledger = Ledger::new(saved.result, Some(store), options.voice);
        Ok(Session::of(schedule, ledger, options))
    }

    /// Measures the rest of the schedule, shows the result and returns the exit code.
    ///
    /// # Errors
    ///
    /// Reports that could not be written.
    pub fn measure(
        mut self,
        sampler: &mut dyn Sampler,
        passes: Vec<Pass<'_>>,
        interrupt: &Interrupt,
    ) -> Result<ExitCode, Error> {
        let progress = Progress::new(self.options.voice, &self.schedule);
        let end = Campaign {
            schedule: &self.schedule,
            ledger: &mut self.ledger,
            sampler,
            passes,
            progress: &progress,
        }
        .run();
        self.conclude(&end, interrupt)
    }

    /// Shows the result and returns the exit code.
    ///
    /// # Errors
    ///
    /// Reports that could not be written.
    pub(crate) fn conclude(mut self, end: &End, interrupt: &Interrupt) -> Result<ExitCode, Error> {
        self.close(end);
        if let (End::Fatal(why), 0) = (end, blocks(self.ledger.result())) {
            return Err(Error::failed(match self.fleet() {
                None => why.clone(),
                Some(_) => format!("{why}; {}", self.farewell()),
            }));
        }
        let result = judged(self.ledger.result(), self.schedule.margin_pct);
        if self.ledger.is_torn() {
            publish::rescue(&result, self.options.voice);
        }
        self.tell_places(&result);
        let (targets, details) = (&self.options.targets, self.options.details);
        let published = publish::publish(&result, targets, details);
        let ended = self.end(end, &result, interrupt);
        match (published, ended) {
            (Ok(()), ended) => ended,
            (Err(error), Ok(_)) => Err(error),
            (Err(error), Err(last)) => {
                talk::error(&error);
                Err(last)
            }
        }
    }

    /// Prints where the details of the result are, before the answer.
    fn tell_places(&self, result: &ResultFile) {
        let mut places = vec![];
        if self.ledger.kept() {
            let id = &result.run.id;
            places.push(format!(
                "run {id}: `furlong show --details` has every figure"
            ));
        }
        if self.options.page && self.options.targets.html.is_none() {
            let page = publish::keep_page(result, self.options.voice);
            let page = page.filter(|_| self.options.details);
            places.extend(page.map(|path| format!("page: {}", path.display())));
        }
        if !places.is_empty() {
            self.options.voice.note(&places.join("\n"));
            self.options.voice.note("");
        }
    }

    /// Ends the session before anything is measured here, because other processes measure.
    pub(crate) fn leave(mut self) {
        self.ledger.close(Status::Interrupted, None);
    }

    /// Returns the directory of the parts, if a fleet measures.
    fn fleet(&self) -> Option<&str> {
        let fleet = self.ledger.result().run.machine.fleet.as_ref();
        fleet.map(|fleet| fleet.dir.as_str())
    }

    fn close(&mut self, end: &End) {
        // What a fleet's head loses does not concern the nodes.
        let began = self.began.filter(|_| self.fleet().is_none());
        let steal = stolen_pct(&Files::default(), began);
        if let Some(steal) = steal.filter(|steal| *steal > STEAL_MAX_PCT) {
            self.ledger.warn_run(format!(
                "the hypervisor gave {steal:.1} % of the processor time to other guests: repeat \
                 the run when the host is quieter, or with more blocks"
            ));
        }
        let status = match end {
            End::Finished => Status::Finished,
            End::Interrupted | End::Fatal(_) | End::TooShort(_) => Status::Interrupted,
            End::WrongAnswer(what) => {
                self.ledger.warn_run(what.clone());
                Status::Failed
            }
        };
        let of_nodes = self.ledger.result().run.machine.steal_pct;
        self.ledger.close(status, steal.or(of_nodes));
    }

    /// Prints the final message and returns the exit code.
    fn end(
        &self,
        end: &End,
        result: &ResultFile,
        interrupt: &Interrupt,
    ) -> Result<ExitCode, Error> {
        match end {
            End::WrongAnswer(what) => Err(Error::failed(what.clone())),
            End::Fatal(why) => Err(Error::failed(format!("{why}; {}", self.farewell()))),
            End::TooShort(why) => Err(Error::usage(why.clone())),
            End::Interrupted => {
                let exit = interrupt.signal().unwrap_or(Exit::Signal(2));
                Err(Error {
                    exit,
                    message: format!("interrupted; {}", self.farewell()),
                })
            }
            End::Finished => {
                let missing = missing(&self.schedule, self.ledger.result());
                if missing > 0 {
                    let text = format!("samples missing: {missing}, for the reasons above");
                    return Err(Error::failed(text));
                }
                Ok(self.condition(result).into())
            }
        }
    }

    /// Returns a message about the stored results and the way to resume.
    fn farewell(&self) -> String {
        let blocks = blocks(self.ledger.result());
        if let Some(dir) = self.fleet() {
            let dir = quoted(dir);
            return format!(
                "{blocks} finished blocks are stored, continue with: furlong collect {dir} \
                 --resubmit"
            );
        }
        if !self.ledger.kept() {
            return "nothing is stored, so this run cannot be resumed".to_owned();
        }
        let location = self.options.database.location(self.options.settings);
        let place = match location {
            Some(location) if Some(&location) != default_database().as_ref() => {
                format!(" --db {}", quoted(&location.to_string()))
            }
            _ => String::new(),
        };
        let verb = match (self.schedule.budget_s, self.schedule.subject.is_null()) {
            (Some(_), _) => "ci",
            (None, true) => "run",
            (None, false) => "compare",
        };
        let run = &self.ledger.result().run;
        let peers = if peers::are_in(&run.command) {
            " --peers"
        } else {
            ""
        };
        let id = &run.id;
        format!(
            "{blocks} finished blocks are stored, continue with: furlong {verb}{peers} --resume \
             {id}{place}"
        )
    }

    /// Returns the exit of `--fail-on`: a condition if one holds.
    fn condition(&self, result: &ResultFile) -> Exit {
        let fail_on = &self.options.fail_on;
        let mut all = result.experiments.iter();
        match all.any(|experiment| fail_on.iter().any(|one| one.fails(experiment))) {
            true => Exit::Condition,
            false => Exit::Done,
        }
    }
}

/// Returns a run that is about to begin on this machine.
///
/// # Errors
///
/// The system has no random numbers for the name.
pub(crate) fn new_run(schedule: &Schedule, words: Marks) -> Result<Run, Error> {
    Ok(Run {
        id: new_id()?,
        started: Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        command: command(),
        profile: schedule.profile.name().to_owned(),
        seed: schedule.seed,
        version: build::version(),
        tag: words.tag,
        note: words.note,
        revision: None,
        machine: this_machine(words.machine_class.as_deref()),
        warnings: vec![],
    })
}

/// Returns the arguments as `furlong` would take them.
fn command() -> Vec<String> {
    let given = std::env::args_os().skip(1);
    // A path need not be valid text; the record marks the invalid part. Passwords are removed.
    let given = given.map(|argument| redacted(&argument.to_string_lossy()));
    let mut command: Vec<String> = given.collect();
    if peers::are_here() && !peers::are_in(&command) {
        command.insert(0, peers::OPTION.to_owned());
    }
    command
}

/// Returns the conditions that spoil a measurement from the start.
fn spoilers(result: &ResultFile) -> Vec<String> {
    let machine = &result.run.machine;
    let mut spoilers = vec![];
    if !build::is_release() {
        spoilers.push(
            "this furlong was built without optimisation, so its figures are meaningless: build it \
             with --release"
                .to_owned(),
        );
    }
    if let Some(load) = disturbing_load(machine) {
        spoilers.push(format!(
            "other programs are running (load {load:.1} on {} processors): stop them, or expect a \
             wide interval",
            machine.cpus
        ));
    }
    spoilers.extend(crowded(result, machine.cpus));
    spoilers
}

/// Returns the number of finished blocks.
fn blocks(result: &ResultFile) -> usize {
    result.workloads().map(|one| one.blocks.len()).sum()
}

/// True if an exact count of an arm was left out because it differs between processes.
fn has_left_out(workload: &WorkloadResult, arm: &ArmResult) -> bool {
    let of_arm = format!("`{}`: ", arm.name);
    let mut warnings = workload.warnings.iter();
    warnings.any(|text| text.starts_with(&of_arm) && text.ends_with(LEFT_OUT))
}

/// Returns the number of missing samples.
fn missing(schedule: &Schedule, result: &ResultFile) -> usize {
    let pairs = schedule.experiments.iter().zip(&result.experiments);
    let missing = pairs.flat_map(|(entry, experiment)| {
        let is_exact = |metric: &String| {
            experiment.metrics.get(metric).map(|one| one.kind) == Some(Kind::Exact)
        };
        entry
            .workloads
            .iter()
            .zip(&experiment.workloads)
            .map(move |(scheduled, workload)| {
                let able = workload.arms.iter().filter(|arm| arm.na.is_none());
                let measured = 0..workload.blocks.len();
                let failed = able.flat_map(|arm| {
                    // Within a budget, a benchmark without an exact count has its times. A count
                    // that differs is an answer, too.
                    let is_left_out = schedule.budget_s.is_some() || has_left_out(workload, arm);
                    let is_wanted = move |metric: &String| !(is_left_out && is_exact(metric));
                    measured.clone().filter(move |block| {
                        let lacks = |values: &Vec<Option<f64>>| values.get(*block) == Some(&None);
                        let mut samples = arm.samples.iter();
                        samples.any(|(metric, values)| is_wanted(metric) && lacks(values))
                    })
                });
                let failed = failed.count();
                let primary = experiment.wanted(None, workload);
                let control = primary.and_then(|(primary, _)| workload.control.get(primary));
                let control = control.map_or(0, |control| {
                    control
                        .samples
                        .iter()
                        .filter(|value| value.is_none())
                        .count()
                });
                let planned = match Stopped::of(workload) {
                    Some(_) => workload.blocks.len(),
                    None => scheduled.blocks as usize,
                };
                let blocks = planned.saturating_sub(workload.blocks.len());
                failed + control + blocks * entry.processes(scheduled).len()
            })
    });
    missing.sum()
}
