//! `furlong collect`: merges the parts of a fleet's run.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::error::Error;
use crate::fleet::order::Order;
use crate::fleet::{Dir, Patience, collect};
use crate::options::{FailOn, Options, Settings, Showing};

const EXAMPLES: &str = "\
Examples:
  furlong collect furlong-3mzk9a2c                shows the parts that have arrived
  furlong collect furlong-3mzk9a2c --wait         waits for the running tasks
  furlong collect furlong-3mzk9a2c --resubmit     submits missing tasks again, and waits";

/// A fleet, the patience with its tasks, and the destinations of the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The directory that a command with `--on slurm` made
    pub dir: PathBuf,
    /// Wait for the tasks that are under way
    #[arg(long)]
    pub wait: bool,
    /// Submit missing tasks again, and wait for them
    #[arg(long)]
    pub resubmit: bool,
    /// Exit with 3 if an arm gets this verdict in the primary metric
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Source and destinations of the result.
    #[command(flatten)]
    pub showing: Showing,
}

/// Merges the parts so far, and reports the missing ones.
///
/// # Errors
///
/// Bad input, or the missing parts.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let showing = &args.showing;
    let options = Options {
        // The record is that of the run, which is not known yet.
        page: !showing.reports.no_html(&settings),
        ..showing.options(&settings, &args.fail_on)
    };
    options.targets.check()?;
    let dir = Dir::open(&args.dir)?;
    let order = Order::read(&dir)?;
    let patience = match (args.resubmit, args.wait) {
        (true, _) => Patience::Resubmit,
        (false, true) => Patience::Wait,
        (false, false) => Patience::None,
    };
    collect(&dir, &order, options, patience)
}
