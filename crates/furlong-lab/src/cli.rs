//! The command line: verbs, and the options that several of them share.

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};

use crate::Program;
use crate::cmd::{
    ab, bisect, ci, collect, compare, completions, diff, doctor, export, history, import, list, man,
};
use crate::cmd::{link, mark, prune, run, sample, serve, show, stat, task};
use crate::error::Error;
use crate::peers;
use crate::record::build;

/// Text of `--version`.
static VERSION: LazyLock<String> = LazyLock::new(build::version);

const EXAMPLES: &str = "\
Examples:
  furlong run iova-gap
  furlong compare 'sort big.txt' 'sort --parallel=1 big.txt'
  furlong history

Exit codes:
  0      done, even if the run could not be stored
  1      a subject returned a wrong result, or a run failed
  2      bad usage or bad input: nothing was done
  3      a condition of --fail-on holds, or ci found a regression
  128+N  signal N ended it; what was finished is kept
  (stat --ministat ends as ministat does)";

/// Measures whether a change is an improvement: two commands, files of numbers, or experiments.
#[derive(Debug, Parser)]
#[command(name = "furlong", version = VERSION.as_str(), disable_help_subcommand = true)]
#[command(arg_required_else_help = true, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli<X: Subcommand> {
    /// Also run other people's implementations (arms), where experiments have them
    #[arg(long, global = true, display_order = 1000)]
    pub peers: bool,
    /// Verb to execute.
    #[command(subcommand)]
    pub verb: Verb<X>,
}

/// Verb to execute.
#[derive(Debug, Subcommand)]
pub enum Verb<X: Subcommand> {
    /// List every experiment: its question, arms, workloads and last verdict
    List(list::Args),
    /// Run experiments; without a name, the tour of a minute
    Run(Box<run::Args>),
    /// Compare any commands, by the same method as experiments
    Compare(Box<compare::Args>),
    /// Judge a pull request: the benchmarks of two revisions, within a time
    Ci(Box<ci::Args>),
    /// Compare two revisions of a git repository
    Ab(Box<ab::Args>),
    /// Find the commit that changed a figure
    Bisect(Box<bisect::Args>),
    /// Merge the parts of a run that a fleet measures
    Collect(collect::Args),
    /// Show a stored run again
    Show(show::Args),
    /// Show all stored runs, and the points where their figures changed
    History(history::Args),
    /// Compare two stored runs
    Diff(diff::Args),
    /// Give a stored run a tag, a note or a pin
    Mark(mark::Args),
    /// Write stored runs as files
    Export(export::Args),
    /// Add runs that were measured elsewhere to the store
    Import(import::Args),
    /// Remove stored runs that are no longer needed
    Prune(prune::Args),
    /// Show the history in a browser
    Serve(serve::Args),
    /// Compare files of numbers, in the manner of ministat
    Stat(stat::Args),
    /// Report conditions on this machine that would spoil a measurement, with remedies
    Doctor(doctor::Args),
    /// Verbs of the experiments.
    #[command(flatten)]
    Further(X),
    /// Print the command line's completions for a shell
    Completions(completions::Args),
    /// Print the manual, a page for each verb
    Man(man::Args),
    /// Link a program in several code layouts (cargo calls this for the lab)
    #[command(hide = true)]
    Link(link::Args),
    /// Take one sample (the lab calls this itself)
    #[command(hide = true)]
    Sample(sample::Args),
    /// Do one task of a fleet (the lab calls this itself)
    #[command(hide = true)]
    Task(task::Args),
}

impl<X: Subcommand> Cli<X> {
    /// Executes the command line.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be executed.
    pub fn run(self, program: &Program<X>) -> Result<ExitCode, Error> {
        let experiments = &program.experiments;
        if self.peers {
            peers::join()?;
        }
        match self.verb {
            Verb::List(args) => list::run(&args, experiments),
            Verb::Run(args) => run::run(&args, experiments),
            Verb::Compare(args) => compare::run(&args),
            Verb::Ab(args) => ab::run(&args),
            Verb::Ci(args) => ci::run(&args),
            Verb::Bisect(args) => bisect::run(&args),
            Verb::Collect(args) => collect::run(&args),
            Verb::Show(args) => show::run(&args),
            Verb::History(args) => history::run(&args),
            Verb::Diff(args) => diff::run(&args),
            Verb::Mark(args) => mark::run(&args),
            Verb::Export(args) => export::run(&args),
            Verb::Import(args) => import::run(&args),
            Verb::Prune(args) => prune::run(&args),
            Verb::Serve(args) => serve::run(&args),
            Verb::Stat(args) => Ok(stat::run(&args)),
            Verb::Doctor(args) => doctor::run(&args),
            Verb::Further(verb) => (program.further)(verb),
            Verb::Completions(args) => completions::run(&args, Self::command()),
            Verb::Man(args) => man::run(&args, Self::command()),
            Verb::Link(args) => link::run(&args),
            Verb::Sample(args) => sample::run(&args, experiments),
            Verb::Task(args) => task::run(&args, experiments),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;
    use crate::NoVerbs;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::<NoVerbs>::command().debug_assert();
    }
}
