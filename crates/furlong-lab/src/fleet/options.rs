//! Options for the place of measurement, and the submission of a run to a fleet.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;

use super::Dir;
use super::order::Order;
use super::slurm::{self, Slurm};
use super::step::{Step, obstacle};
use super::wait::{Patience, head, watch};
use crate::error::{Error, Exit};
use crate::measure::campaign::End;
use crate::measure::interrupt::Interrupt;
use crate::model::Schedule;
use crate::options::{Marks, Options};
use crate::record::build;
use crate::record::store::Location;
use crate::session::{Session, new_run};
use crate::talk::quoted;

/// Place of measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// This machine.
    #[default]
    Local,
    /// The nodes of a Slurm cluster: each block is a task on a node of its own.
    Slurm,
}

/// The place of measurement.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Nodes {
    /// Place of measurement: this machine, or the nodes of a Slurm cluster with a task per block
    #[arg(long, value_name = "WHAT", default_value = "local", help_heading = HEADING)]
    pub on: On,
    /// With --on slurm: further option for Slurm, for example --slurm=--partition=bench
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, help_heading = HEADING)]
    pub slurm: Vec<String>,
}

/// The place of measurement, and the parts of a run there.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Where {
    /// The place.
    #[command(flatten)]
    pub nodes: Nodes,
    /// With --on slurm: directory of the parts, visible to every node [default: furlong-ID in this
    /// directory]
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    pub dir: Option<PathBuf>,
    /// With --on slurm: submit and do not wait; `furlong collect` merges the parts
    #[arg(long, help_heading = HEADING)]
    pub detach: bool,
}

/// Title of these options in a help text.
const HEADING: &str = "Fleet";

impl Nodes {
    /// Refuses options that need a fleet if there is none.
    ///
    /// # Errors
    ///
    /// The first such option.
    pub fn check(&self) -> Result<(), Error> {
        self.refuse_if(&[("--slurm", !self.slurm.is_empty())])
    }

    fn refuse_if(&self, given: &[(&str, bool)]) -> Result<(), Error> {
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) if self.on == On::Local => {
                Err(Error::usage(format!("{option} needs --on slurm")))
            }
            _ => Ok(()),
        }
    }
}

impl Where {
    /// Refuses options that need a fleet if there is none.
    ///
    /// # Errors
    ///
    /// The first such option.
    pub fn check(&self) -> Result<(), Error> {
        let given = [("--dir", self.dir.is_some()), ("--detach", self.detach)];
        self.nodes.refuse_if(&given)?;
        self.nodes.check()
    }
}

/// Submits a run to a fleet, and waits for it unless told otherwise.
///
/// # Errors
///
/// An obstacle, before anything is begun; afterwards the missing parts.
pub fn submit(
    place: &Where,
    schedule: Schedule,
    words: Marks,
    options: Options<'_>,
) -> Result<ExitCode, Error> {
    if let Some(why) = obstacle(&schedule) {
        return Err(Error::usage(why));
    }
    slurm::check(&place.nodes.slurm)?;
    let class = words.machine_class.clone();
    let mut run = new_run(&schedule, words)?;
    let path = place.dir.clone();
    let dir = Dir::make(&path.unwrap_or_else(|| format!("furlong-{}", run.id).into()))?;
    run.machine = head(&dir, class.as_deref());
    let mut order = Order::new(run.clone(), schedule.clone(), build::binary());
    order.slurm.clone_from(&place.nodes.slurm);
    order.db = match options.database.location(options.settings) {
        // A later `collect` may run in another directory.
        Some(Location::File(path)) => Some(std::path::absolute(&path).unwrap_or(path)),
        // Without its password, because the directory is shared.
        Some(server) => Some(server.to_string().into()),
        None => None,
    };
    order.write(&dir)?;
    let steps = Step::all(&order.schedule);
    let interrupt = Interrupt::listen()?;
    let voice = options.voice;
    let session = Session::open(run, schedule, options);
    if let Err(error) = Slurm::new(&order).submit(&dir, &steps) {
        return session.conclude(&End::Fatal(error.message), &interrupt);
    }
    let shown = quoted(&dir.path().display().to_string());
    voice.note(&format!(
        "{} tasks are submitted; if this command ends before them, continue with: furlong collect \
         {shown} --wait",
        steps.len()
    ));
    if place.detach {
        session.leave();
        return Ok(Exit::Done.into());
    }
    watch(&dir, &order, session, Patience::Wait, &interrupt)
}
