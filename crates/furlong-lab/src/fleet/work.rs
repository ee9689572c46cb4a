//! One task on its node: it does a step and writes its results after every block.

use std::cell::RefCell;
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use jiff::Zoned;

use super::Dir;
use super::order::Order;
use super::part::{Part, Stint, set_aside};
use super::step::{Step, is_prepared};
use crate::error::{Error, Exit, cause};
use crate::measure::campaign::{Campaign, End};
use crate::measure::interrupt::Interrupt;
use crate::measure::progress::Progress;
use crate::measure::sampler::{Pass, Sampler};
use crate::model::Schedule;
use crate::record::build;
use crate::record::ledger::Ledger;
use crate::record::line::Line;
use crate::record::machine::Files;
use crate::record::stolen_pct;
use crate::talk::{self, Voice};

/// Runs the arms of a schedule, as the verb that began the run does.
pub type AtWork<'a> = &'a dyn Fn(&Schedule, &Interrupt, Work<'_>) -> Result<End, Error>;

/// The part of a campaign that a task executes.
pub type Work<'a> = Box<dyn FnOnce(&mut dyn Sampler, Vec<Pass<'static>>) -> End + 'a>;

/// A growing part, and its file.
struct Desk {
    path: PathBuf,
    part: Part,
    /// Error of the last write, if it failed. Later lines are written all the same.
    failure: Option<String>,
}

impl Desk {
    fn add(&mut self, line: Line) {
        let is_kept_at_once = !matches!(line, Line::Note { .. } | Line::Warning { .. });
        if let Some(stint) = self.part.stints.last_mut() {
            stint.lines.push(line);
        }
        if is_kept_at_once {
            self.keep();
        }
    }

    fn finish(&mut self, end: &End, steal_pct: Option<f64>) {
        if let Some(stint) = self.part.stints.last_mut() {
            stint.end = Some(end.clone());
            stint.machine.steal_pct = steal_pct;
        }
        self.keep();
    }

    fn keep(&mut self) {
        match self.part.write(&self.path) {
            Ok(()) => self.failure = None,
            Err(error) => {
                let path = self.path.display();
                self.failure = Some(format!("{path} cannot be written: {}", cause(&error)));
            }
        }
    }
}

/// Does a step of a fleet's run, or the rest of it.
///
/// # Errors
///
/// A problem with the fleet's directory, or the failure of the step. Results so far are kept.
pub fn work(dir: &Dir, step: Step, at_work: AtWork<'_>) -> Result<ExitCode, Error> {
    let order = Order::read(dir)?;
    if order.binary != build::binary() {
        let program = dir.program();
        return Err(Error::usage(format!(
            "this is not the furlong that started the run: use {}",
            program.display()
        )));
    }
    if !Step::all(&order.schedule).contains(&step) {
        return Err(Error::usage(format!("this run has no {step}")));
    }
    let interrupt = Interrupt::listen()?;
    let mut ledger = Ledger::new(order.schedule.blank(order.run.clone()), None, Voice::Normal);
    tell_preparation(dir, &order, step, &mut ledger)?;
    let Some(desk) = desk(dir, &order, step, &mut ledger) else {
        return Ok(Exit::Done.into());
    };
    let desk = Rc::new(RefCell::new(desk));
    let heard = Rc::clone(&desk);
    ledger.listen(move |line| heard.borrow_mut().add(line));
    let began = Files::default().cpu_time();
    let ended = measure(&order, step, &mut ledger, at_work, &interrupt);
    let end = ended.unwrap_or_else(|error| End::Fatal(error.message));
    let steal = stolen_pct(&Files::default(), began);
    let mut desk = desk.borrow_mut();
    desk.finish(&end, steal);
    if let Some(failure) = desk.failure.take() {
        return Err(Error::failed(failure));
    }
    match end {
        End::Finished => Ok(Exit::Done.into()),
        End::Interrupted => Ok(interrupt.signal().unwrap_or(Exit::Failed).into()),
        End::WrongAnswer(why) | End::Fatal(why) | End::TooShort(why) => Err(Error::failed(why)),
    }
}

fn measure(
    order: &Order,
    step: Step,
    ledger: &mut Ledger,
    at_work: AtWork<'_>,
    interrupt: &Interrupt,
) -> Result<End, Error> {
    let schedule = &order.schedule;
    let campaign = |sampler: &mut dyn Sampler, passes: Vec<Pass<'static>>| {
        let mut campaign = Campaign {
            schedule,
            ledger,
            sampler,
            passes,
            progress: &Progress::hidden(),
        };
        match step {
            Step::Prepare => campaign.prepare(),
            Step::Block(number) => campaign.only(number),
        }
    };
    at_work(schedule, interrupt, Box::new(campaign))
}

/// Replays the results of the preparation for a block that needs them.
fn tell_preparation(
    dir: &Dir,
    order: &Order,
    step: Step,
    ledger: &mut Ledger,
) -> Result<(), Error> {
    if step == Step::Prepare || !is_prepared(&order.schedule) {
        return Ok(());
    }
    let path = dir.part(Step::Prepare);
    let found = Part::read(&path, order, Step::Prepare);
    let found = found.map_err(|flaw| Error::failed(format!("{} {flaw}", path.display())))?;
    let Some(part) = found.filter(Part::is_whole) else {
        return Err(Error::failed(format!(
            "{step} needs the preparation, which is not complete: {} is incomplete",
            path.display()
        )));
    };
    part.lines().for_each(|(_, line)| line.tell(ledger));
    Ok(())
}

/// Returns the part so far with a stint for this process; `None` if the step is done already.
fn desk(dir: &Dir, order: &Order, step: Step, ledger: &mut Ledger) -> Option<Desk> {
    let path = dir.part(step);
    let part = Part::read(&path, order, step).unwrap_or_else(|flaw| {
        let aside = match set_aside(&path) {
            Ok(aside) => format!("it is kept as {}", aside.display()),
            Err(error) => format!("it cannot be moved aside: {}", cause(&error)),
        };
        talk::say(&format!("warning: {} {flaw}: {aside}", path.display()));
        None
    });
    let mut part = part.unwrap_or_else(|| Part::new(&order.run.id, step));
    if part.is_whole() {
        return None;
    }
    part.lines().for_each(|(_, line)| line.tell(ledger));
    part.stints.push(this_stint());
    Some(Desk {
        path,
        part,
        failure: None,
    })
}

/// Returns the stint of this process, from Slurm's environment variables.
fn this_stint() -> Stint {
    let said = |name| env::var(name).ok();
    let machine = Files::default().machine();
    let job = said("SLURM_ARRAY_JOB_ID").zip(said("SLURM_ARRAY_TASK_ID"));
    Stint {
        node: said("SLURMD_NODENAME").unwrap_or_else(|| machine.host.clone()),
        machine,
        job: job
            .map(|(job, task)| format!("{job}_{task}"))
            .or_else(|| said("SLURM_JOB_ID")),
        restarts: said("SLURM_RESTART_COUNT")
            .and_then(|count| count.parse().ok())
            .unwrap_or(0),
        started: Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        lines: vec![],
        end: None,
    }
}
