//! `furlong task`: one task of a fleet's run, for Slurm's tasks themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{bisect, compare, run};
use crate::error::Error;
use crate::fleet::Dir;
use crate::fleet::step::Step;
use crate::fleet::work::work;
use crate::model::Experiment;

/// A run, and the task to do.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The fleet's directory
    #[arg(required_unless_present = "search")]
    pub dir: Option<PathBuf>,
    /// Count and calibrate
    #[arg(long, conflicts_with = "block", required_unless_present_any = ["block", "search"])]
    pub prepare: bool,
    /// Measure the blocks of this number
    #[arg(long, value_name = "N")]
    pub block: Option<u32>,
    /// Measure blocks of a search, and print their figures
    #[arg(long, value_name = "JSON", conflicts_with_all = ["dir", "prepare", "block"])]
    pub search: Option<String>,
}

/// Does the task.
///
/// # Errors
///
/// A problem with the directory, or the failure of the task.
pub fn run(args: &Args, experiments: &[Experiment]) -> Result<ExitCode, Error> {
    let dir = match (&args.search, &args.dir) {
        (Some(search), _) => return bisect::work(search),
        (None, Some(dir)) => Dir::open(dir)?,
        (None, None) => return Err(Error::usage("name the fleet's directory")),
    };
    let step = args.block.map_or(Step::Prepare, Step::Block);
    work(&dir, step, &|schedule, interrupt, campaign| {
        if schedule.subject.is_null() {
            run::at_work(schedule, experiments, interrupt, campaign)
        } else {
            compare::at_work(schedule, interrupt, campaign)
        }
    })
}
