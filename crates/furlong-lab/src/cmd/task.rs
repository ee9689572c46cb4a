//! `furlong task`: one task of a fleet's run, for Slurm's tasks themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{compare, run};
use crate::error::Error;
use crate::fleet::Dir;
use crate::fleet::step::Step;
use crate::fleet::work::work;
use crate::model::Experiment;

/// A run, and the task to do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The fleet's directory
    pub dir: PathBuf,
    /// Count and calibrate
    #[arg(long, conflicts_with = "block", required_unless_present = "block")]
    pub prepare: bool,
    /// Measure the blocks of this number
    #[arg(long, value_name = "N")]
    pub block: Option<u32>,
}

/// Does the task.
///
/// # Errors
///
/// A problem with the directory, or the failure of the task.
pub fn run(args: &Args, experiments: &[Experiment]) -> Result<ExitCode, Error> {
    let dir = Dir::open(&args.dir)?;
    let step = args.block.map_or(Step::Prepare, Step::Block);
    work(&dir, step, &|schedule, interrupt, campaign| {
        if schedule.subject.is_null() {
            run::at_work(schedule, experiments, interrupt, campaign)
        } else {
            compare::at_work(schedule, interrupt, campaign)
        }
    })
}
