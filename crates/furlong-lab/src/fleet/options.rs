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
use crate::options::{Marks, Options, RESUME};
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

/// Options for the place of measurement.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Fleet")]
pub struct Where {
    /// Place of measurement: this machine, or the nodes of a Slurm cluster with a task per block
    #[arg(long, value_name = "WHAT", default_value = "local", conflicts_with = RESUME)]
    pub on: On,
    /// With --on slurm: directory of the parts, visible to every node [default: furlong-ID in this
    /// directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// With --on slurm: further option for sbatch, for example --slurm=--partition=bench
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub slurm: Vec<String>,
    /// With --on slurm: submit and do not wait; `furlong collect` merges the parts
    #[arg(long)]
    pub detach: bool,
}

impl Where {
    /// Refuses options that need a fleet if there is none.
    ///
    /// # Errors
    ///
    /// The first such option.
    pub fn check(&self) -> Result<(), Error> {
        let given = [
            ("--dir", self.dir.is_some()),
            ("--slurm", !self.slurm.is_empty()),
            ("--detach", self.detach),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) if self.on == On::Local => {
                Err(Error::usage(format!("{option} needs --on slurm")))
            }
            _ => Ok(()),
        }
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
    slurm::check(&place.slurm)?;
    let class = words.machine_class.clone();
    let mut run = new_run(&schedule, words)?;
    let path = place.dir.clone();
    let dir = Dir::make(&path.unwrap_or_else(|| format!("furlong-{}", run.id).into()))?;
    run.machine = head(&dir, class.as_deref());
    let mut order = Order::new(run.clone(), schedule.clone(), build::binary());
    order.slurm.clone_from(&place.slurm);
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
