//! `furlong ab`: two revisions of a git repository, each built in a checkout of its own, and
//! compared as two commands, or by the benchmarks of `cargo bench`.

pub(super) mod layouts;
pub(super) mod recipe;
pub(super) mod repository;
pub(super) mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use super::compare::{How, Sides, compare};
use crate::error::Error;
use crate::measure::layouts::view;
use crate::record::comparison::name_of;
use crate::talk::quoted;
use repository::Repository;

/// Two revisions, the way to build them, and the command to run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Baseline: a branch, a tag or a commit
    pub base: String,
    /// Revision to judge
    #[arg(default_value = "HEAD")]
    pub head: String,
    /// Build each revision by this (sh, in its checkout) [default: cargo build --release, or cargo
    /// bench --no-run if there is no COMMAND]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Link each revision in several code layouts.
    #[command(flatten)]
    pub layouts: layouts::Several,
    /// Only benchmarks whose name contains this
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub bench: Vec<String>,
    /// Command to run in each checkout [default: the benchmarks of cargo bench]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Options of `compare`.
    #[command(flatten)]
    pub how: How,
}

const EXAMPLES: &str = "\
Examples:
  furlong ab main
  furlong ab v1.2 v1.3 --bench sort --build 'cargo bench --no-run -p parser'
  furlong ab main -- ./target/release/tool big.txt
  furlong ab v1.2 v1.3 --build 'make -j2' -- ./tool big.txt
  furlong ab main --layouts 8 -- ./target/release/tool big.txt
  furlong ab main --layouts 8 --build make --relink './link.sh $FURLONG_LAYOUT' -- ./tool big.txt
  furlong ab main HEAD --counters auto --fail-on revert -- ./target/release/tool big.txt

Each revision is built once, in a checkout in the cache. Changes that are not committed are not in
it. Both run in their checkouts, in blocks of random order, as two commands of `furlong compare`.

Without a command, every benchmark of furlong-bench that both revisions have is compared, for at
most 10 s each (--max-time). All of them together raise a false alarm in at most 5 % of runs.";

/// Builds both revisions and compares them.
///
/// # Errors
///
/// An unknown revision, a build that fails, and those of `compare`.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    if args.how.resume.is_some() {
        let why = "a comparison of revisions is resumed by furlong compare --resume ID";
        return Err(Error::usage(why));
    }
    let repository = Repository::here()?;
    let voice = args.how.voice();
    let build = match &args.command[..] {
        [] => Some(suite::build(&repository, args.build.as_deref())?),
        _ => args.build.clone(),
    };
    let recipe = args.layouts.recipe(build.as_deref(), voice);
    let layouts = recipe.layouts;
    let pair = repository.pair([&args.base, &args.head], recipe, voice)?;
    if args.command.is_empty() {
        let sides = suite::sides("ab cargo bench", &pair, &args.bench, layouts)?;
        return compare(&sides, &args.how);
    }
    let folders: Vec<PathBuf> = pair.built.iter().map(|one| one.folder.clone()).collect();
    let command = command_line(&args.command);
    let is_laid_out = |folder: &PathBuf| layouts::is_run_by(&command, &view(folder, 0));
    if layouts > 0 && !folders.iter().all(is_laid_out) {
        return Err(Error::usage(format!(
            "`{command}` names no program that was linked: --layouts needs its path, such as \
             ./target/release/tool"
        )));
    }
    let facts = pair.facts(layouts);
    let mut names = pair.names();
    if names[0] == names[1] {
        names.clear();
    }
    let commands = vec![command.clone(), command];
    let sides = Sides {
        comparison: Some(format!("ab {}", name_of(&commands[..1]))),
        commands,
        folders,
        names,
        layouts,
        facts,
        ..Sides::default()
    };
    compare(&sides, &args.how)
}

/// Returns the words behind `--` as one command line.
pub(super) fn command_line(words: &[String]) -> String {
    match words {
        // A command line in quotes may need a shell.
        [line] => line.clone(),
        words => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        }
    }
}
