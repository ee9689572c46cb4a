//! Waiting for the parts of a fleet, and merging them into a result.

use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::Dir;
use super::gather::Gather;
use super::machine::{in_common, spoilers};
use super::missing::missing;
use super::order::Order;
use super::slurm::{self, Slurm};
use super::slurm_parse::Task;
use super::step::{Step, guess_s};
use crate::archive;
use crate::error::{Error, Exit};
use crate::measure::campaign::End;
use crate::measure::interrupt::Interrupt;
use crate::measure::progress::Progress;
use crate::model::result::{Fleet, Machine};
use crate::options::Database;
use crate::options::Options;
use crate::record::class::this_machine;
use crate::record::ledger::Ledger;
use crate::session::{Session, crowded};
use crate::talk::Voice;

/// Interval between two reads of the parts.
const LOOK: Duration = Duration::from_secs(1);

/// Interval between two queries to Slurm, whose controller serves the whole cluster.
const ASK: Duration = Duration::from_secs(3);

/// Time after which a part that a task has written is visible on other machines.
const LAG: Duration = Duration::from_secs(20);

/// Time to wait for the last writes of cancelled tasks.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// Treatment of steps that are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Merge the parts so far.
    None,
    /// Wait for the tasks that are under way.
    Wait,
    /// Submit again the steps that no task works at, and wait for all.
    Resubmit,
}

/// A watched fleet.
struct Watch<'a> {
    gather: Gather<'a>,
    slurm: Slurm,
    tasks: Vec<Task>,
    voice: Voice,
    /// True if Slurm did not answer the last query, which was reported.
    told: bool,
    wake: Receiver<()>,
    progress: Progress,
}

/// Merges the parts of a fleet's directory into its run, after waiting for the missing ones.
///
/// # Errors
///
/// A problem with the directory, the record or Slurm; missing parts; reports that could not be
/// written.
pub fn collect(
    dir: &Dir,
    order: &Order,
    options: Options<'_>,
    patience: Patience,
) -> Result<ExitCode, Error> {
    if patience != Patience::None {
        slurm::check(&order.slurm)?;
    }
    let of_order = Database {
        db: order.db.clone().or(Some("none".into())),
    };
    let database = match options.database.db {
        Some(_) => options.database,
        None => &of_order,
    };
    let options = Options {
        page: options.page && !database.none(options.settings),
        database,
        ..options
    };
    let session = Session::gathered(order, options)?;
    let interrupt = Interrupt::listen()?;
    watch(dir, order, session, patience, &interrupt)
}

/// Watches until no more parts will arrive, and ends the session.
pub(super) fn watch(
    dir: &Dir,
    order: &Order,
    mut session: Session<'_>,
    patience: Patience,
    interrupt: &Interrupt,
) -> Result<ExitCode, Error> {
    let (sender, wake) = mpsc::channel();
    interrupt.wake(move || {
        // The receiver may be gone already.
        let _ = sender.send(());
    });
    let mut watch = Watch {
        gather: Gather::new(dir, order),
        slurm: Slurm::new(order),
        tasks: vec![],
        voice: session.options.voice,
        told: false,
        wake,
        progress: Progress::new(session.options.voice, &order.schedule),
    };
    let end = watch.until_the_end(dir, &mut session.ledger, patience, interrupt);
    watch.progress.finish();
    for stray in watch.gather.strays() {
        let text = format!("{stray} is not a part of this run: it is left out");
        watch.voice.warn(&text);
    }
    settle(dir, &watch.gather, &mut session.ledger);
    session.conclude(&end, interrupt)
}

impl Watch<'_> {
    fn until_the_end(
        &mut self,
        dir: &Dir,
        ledger: &mut Ledger,
        patience: Patience,
        interrupt: &Interrupt,
    ) -> End {
        self.gather.read(ledger);
        if patience != Patience::None || !self.gather.undone().is_empty() {
            self.ask();
        }
        if patience == Patience::Resubmit {
            let again = self.idle();
            let submitted = match again.is_empty() {
                true => Ok(()),
                false => self.slurm.submit(dir, &again),
            };
            if let Err(error) = submitted {
                return End::Fatal(error.message);
            }
            self.ask();
        }
        if patience != Patience::None {
            self.wait(ledger, interrupt);
        }
        if interrupt.signal().is_some() {
            self.stop(ledger, interrupt);
            return End::Interrupted;
        }
        if self.gather.wrong.is_some() {
            // The other figures mean nothing. Tasks that cannot be cancelled end by themselves.
            let _ = self.slurm.cancel();
        }
        self.outcome()
    }

    /// Reads parts until every step is done or no task works any more.
    fn wait(&mut self, ledger: &mut Ledger, interrupt: &Interrupt) {
        let (mut asked, mut quiet_since) = (Instant::now(), None);
        while interrupt.signal().is_none() {
            let before = self.gather.undone();
            self.gather.read(ledger);
            let undone = self.gather.undone();
            let come = before.iter().filter(|step| !undone.contains(step));
            self.show(&undone, come);
            if undone.is_empty() || self.gather.wrong.is_some() {
                return;
            }
            if asked.elapsed() >= ASK || undone.len() < before.len() {
                self.ask();
                asked = Instant::now();
            }
            // A task that has completed may have a part that is not visible yet.
            if self.is_quiet(&undone) {
                let since: Instant = *quiet_since.get_or_insert_with(Instant::now);
                let unseen = |task: &Task| task.is_completed() && undone.contains(&task.step);
                let lag = match self.tasks.iter().any(unseen) {
                    true => LAG,
                    false => 2 * LOOK,
                };
                if since.elapsed() >= lag {
                    // The last answer may be old, so Slurm is queried again before giving up.
                    self.ask();
                    if self.is_quiet(&undone) {
                        self.gather.read(ledger);
                        return;
                    }
                }
            } else {
                quiet_since = None;
            }
            // A wake-up and a timeout are treated alike.
            let _ = self.wake.recv_timeout(LOOK);
        }
    }

    /// Updates the progress bar.
    fn show<'a>(&self, undone: &[Step], come: impl Iterator<Item = &'a Step>) {
        let running = self.tasks.iter().filter(|task| task.state == "RUNNING");
        let (running, all) = (running.count(), self.gather.steps.len());
        let done = all - undone.len();
        self.progress
            .now(&format!("{done} of {all} tasks are done, {running} run"));
        let schedule = &self.gather.order.schedule;
        come.for_each(|step| self.progress.done(guess_s(schedule, *step)));
    }

    /// True if Slurm answers and no task works at an undone step.
    fn is_quiet(&self, undone: &[Step]) -> bool {
        let active = |task: &&Task| task.is_active();
        let mut active = self.tasks.iter().filter(active);
        !self.told && !active.any(|task| undone.contains(&task.step))
    }

    /// Returns the steps that are not done and that no task works at.
    fn idle(&self) -> Vec<Step> {
        let mut idle = self.gather.undone();
        idle.retain(|step| {
            let mut tasks = self.tasks.iter();
            !tasks.any(|task| task.step == *step && task.is_active())
        });
        idle
    }

    /// Queries Slurm for its tasks. If it does not answer, this is reported once, and the last
    /// answer stays valid.
    fn ask(&mut self) {
        match self.slurm.tasks() {
            Ok(mut tasks) => {
                let forgotten = self.gather.undone();
                let known = |step: &Step| tasks.iter().any(|task| task.step == *step);
                if !forgotten.iter().all(known) {
                    let mut past = self.slurm.past_tasks();
                    past.retain(|task| tasks.iter().all(|known| known.step != task.step));
                    tasks.extend(past);
                }
                self.tasks = tasks;
                self.told = false;
            }
            Err(why) if !self.told => {
                self.voice.warn(&format!("Slurm does not answer: {why}"));
                self.told = true;
            }
            Err(_) => {}
        }
    }

    /// Cancels the tasks and reads their last parts. If only the terminal is gone, the tasks go on.
    fn stop(&mut self, ledger: &mut Ledger, interrupt: &Interrupt) {
        const HANGUP: Exit = Exit::Signal(1);
        if interrupt.signal() == Some(HANGUP) {
            return;
        }
        if let Err(why) = self.slurm.cancel() {
            self.voice.warn(&format!("the tasks continue: {why}"));
            return;
        }
        let began = Instant::now();
        while began.elapsed() < LAST_WORDS {
            self.ask();
            let at_work = |task: &Task| task.state == "RUNNING" || task.state == "COMPLETING";
            if self.told || !self.tasks.iter().any(at_work) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.gather.read(ledger);
    }

    fn outcome(&self) -> End {
        if let Some(what) = &self.gather.wrong {
            return End::WrongAnswer(what.clone());
        }
        let active = self.tasks.iter().filter(|task| task.is_active()).count();
        match missing(&self.gather, &self.tasks) {
            None => End::Finished,
            Some(missing) if active > 0 => End::Fatal(format!(
                "{missing}; {active} tasks are pending or running (--wait waits for them)"
            )),
            Some(missing) => End::Fatal(missing),
        }
    }
}

/// Records the nodes of the run, and warnings about them.
fn settle(dir: &Dir, gather: &Gather<'_>, ledger: &mut Ledger) {
    let place = dir.path().display().to_string();
    let head = &ledger.result().run.machine;
    let machine = in_common(&place, &gather.nodes, head);
    let cpus = machine.cpus;
    ledger.set_machine(machine);
    for spoiler in spoilers(&gather.nodes) {
        ledger.warn_run(spoiler);
    }
    if let Some(crowded) = crowded(ledger.result(), cpus) {
        ledger.warn_run(crowded);
    }
}

impl Session<'_> {
    /// Returns the session of a fleet's run, loaded from the record if it is there.
    fn gathered<'a>(order: &Order, options: Options<'a>) -> Result<Session<'a>, Error> {
        Ok(match archive::take_up(&options, &order.run.id)? {
            Some((result, store)) => {
                let ledger = Ledger::new(result, Some(store), options.voice);
                Session::of(order.schedule.clone(), ledger, options)
            }
            None => Session::open(order.run.clone(), order.schedule.clone(), options),
        })
    }
}

/// Returns the head's own machine with the fleet's directory, before any node is known.
pub(super) fn head(dir: &Dir, class: Option<&str>) -> Machine {
    let mut machine = this_machine(class);
    machine.fleet = Some(Fleet {
        dir: dir.path().display().to_string(),
        ..Fleet::default()
    });
    machine
}
