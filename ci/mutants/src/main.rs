//! Mutation tests: makes one small change at a time, and reports the test that notices it.
//!
//! `furlong-mutants [OPTION].. [MODULE]..`, run by `ci/mutants.sh`, which describes the options.
#![forbid(unsafe_code)]

mod build;
mod changed;
mod equivalents;
mod modules;
mod mutant;
mod operators;
mod report;
mod scratch;
mod sites;
#[cfg(test)]
mod tests;
mod trial;
mod weave;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use equivalents::Equivalents;
use modules::{MODULES, Module};
use mutant::{Mutant, Name};
use report::Report;
use scratch::Scratch;
use trial::Fate;

/// The command-line options.
struct Options {
    root: PathBuf,
    seed: u64,
    /// Mutants of a module, or of all changed files.
    count: usize,
    jobs: usize,
    /// Time limit for the tests of one module, once they are built.
    limit: Duration,
    /// Tests that take longer without a mutant are left out.
    longest: Duration,
    changed: bool,
    loom: bool,
    /// Text that names mutants, one at the end of each line; if given, they replace a draw.
    only: Option<String>,
    modules: Vec<&'static Module>,
}

impl Options {
    fn of(words: impl IntoIterator<Item = String>) -> Result<Options, String> {
        let mut asked = Options {
            root: ".".into(),
            seed: 1,
            count: 200,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            limit: Duration::from_secs(86_400),
            longest: Duration::from_secs(300),
            changed: false,
            loom: true,
            only: None,
            modules: vec![],
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().and_then(|value| value.parse::<u64>().ok());
                value.ok_or_else(|| format!("{word} wants a number"))
            };
            match word.as_str() {
                "--root" => asked.root = words.next().ok_or("--root wants a folder")?.into(),
                "--seed" => asked.seed = number()?,
                "--count" => asked.count = usize::try_from(number()?).unwrap_or(usize::MAX),
                "--jobs" => asked.jobs = usize::try_from(number()?).unwrap_or(1),
                "--seconds" => asked.limit = Duration::from_secs(number()?),
                "--longest" => asked.longest = Duration::from_secs(number()?),
                "--changed" => asked.changed = true,
                "--without-loom" => asked.loom = false,
                "--only" => {
                    let path = words.next().ok_or("--only wants a file")?;
                    let read = std::fs::read_to_string(&path);
                    asked.only = Some(read.map_err(|error| format!("{path}: {error}"))?);
                }
                name => {
                    let found = MODULES.iter().find(|module| module.name == name);
                    asked
                        .modules
                        .push(found.ok_or_else(|| format!("there is no module {name}"))?);
                }
            }
        }
        if asked.modules.is_empty() {
            asked.modules = MODULES.iter().collect();
        }
        Ok(asked)
    }
}

fn main() -> ExitCode {
    let result = Options::of(std::env::args().skip(1))
        .map_err(io::Error::other)
        .and_then(|asked| run(&asked));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs everything. Returns `true` if tests notice enough mutants.
fn run(asked: &Options) -> io::Result<bool> {
    println!("seed {}", asked.seed);
    let scratch = Scratch::of(&asked.root)?;
    let text = std::fs::read_to_string(scratch.root.join("ci/mutants/equivalent.txt"))?;
    let list = equivalents::read(&text).map_err(io::Error::other)?;
    let only = match asked.changed {
        true => Some(changed::files(&scratch)?),
        false => None,
    };
    let wanted = |file: &String| only.as_ref().is_none_or(|only| only.contains(file));
    let mut drawn_from = vec![];
    for module in &asked.modules {
        let mut places = places(&scratch, module, &list, wanted)?;
        if let Some(text) = &asked.only {
            places = mutant::named(places, text);
        }
        if !places.is_empty() {
            drawn_from.push((*module, places));
        }
    }
    if asked.changed {
        // There is no time to build the tests of two modules.
        let most = drawn_from
            .into_iter()
            .max_by_key(|(_, places)| places.len());
        drawn_from = most.into_iter().collect();
    }
    let mut reports = vec![];
    for (module, places) in drawn_from {
        reports.push(of_module(asked, &scratch, module, places, &list)?);
    }
    Ok(report::summary(&reports, asked.changed))
}

/// All places of a module's files. Checks the list of equivalent mutants against them.
fn places(
    scratch: &Scratch,
    module: &Module,
    list: &Equivalents,
    wanted: impl Fn(&String) -> bool,
) -> io::Result<Vec<Vec<Mutant>>> {
    let mut files: Vec<String> = scratch.files()?;
    files.retain(|file| module.has(file));
    files.sort();
    let mut places = vec![];
    for file in &files {
        let source = std::fs::read_to_string(scratch.root.join(file))?;
        let functions = sites::functions(&source)
            .map_err(|error| io::Error::other(format!("{file}: {error}")))?;
        places.extend(mutant::all(file, &source, &functions));
    }
    let names: BTreeSet<&Name> = places.iter().flatten().map(|mutant| &mutant.name).collect();
    let stale = equivalents::stale(list, |file| module.has(file), |name| names.contains(name));
    if let Some(name) = stale.first() {
        return Err(io::Error::other(format!(
            "listed as equivalent, and no mutant: {name}"
        )));
    }
    places.retain(|variants| variants.first().is_some_and(|mutant| wanted(&mutant.file)));
    Ok(places)
}

/// Draws, builds and runs mutants of a module.
fn of_module(
    asked: &Options,
    scratch: &Scratch,
    module: &Module,
    places: Vec<Vec<Mutant>>,
    list: &Equivalents,
) -> io::Result<Report> {
    let name = module.name;
    let all = mutant::shuffled(places, asked.seed);
    let suite = module.suite(&scratch.root, false)?;
    let compiled = build::compiled(scratch, &suite, &all)?;
    let drawn: Vec<Mutant> = all
        .into_iter()
        .filter(|one| compiled.contains(&one.name))
        .collect();
    println!(
        "\n{name}: {} places, {} drawn",
        drawn.len(),
        asked.count.min(drawn.len())
    );
    let (taken, programs, refused) = build::build(scratch, &suite, &drawn, asked.count)?;
    println!("{name}: {refused} more do not compile");
    let mut report = Report::new(name, taken, list);
    try_all(asked, scratch, &mut report, &programs)?;
    let suite = module.suite(&scratch.root, true)?;
    let left = report.survivors();
    if asked.loom && suite.has_programs() && !left.is_empty() {
        let (taken, programs, _) = build::build(scratch, &suite, &left, left.len())?;
        let mut models = Report::new(name, taken, list);
        try_all(asked, scratch, &mut models, &programs)?;
        report.take_over(&models);
    }
    report.print();
    Ok(report)
}

/// Runs the tests of the programs against the mutants of a report.
fn try_all(
    asked: &Options,
    scratch: &Scratch,
    report: &mut Report,
    programs: &[build::Program],
) -> io::Result<()> {
    let begun = Instant::now();
    // Half of the time for the run without mutants, half for the mutants.
    let (longest, learn) = (asked.longest, begun + asked.limit / 2);
    let (tests, left_out) = trial::baseline(programs, asked.jobs, &scratch.own, longest, learn)?;
    println!(
        "{}: {} tests, {} s without a mutant",
        report.module,
        tests.len(),
        begun.elapsed().as_secs()
    );
    for name in &left_out {
        println!(
            "{}: left out, for it does not pass in time without a mutant: {name}",
            report.module
        );
    }
    if tests.is_empty() {
        return Err(io::Error::other(format!(
            "{}: no test is left",
            report.module
        )));
    }
    // The time ran out before every test had run once: one that was left out might have noticed.
    let is_cut_short = Instant::now() >= learn && !left_out.is_empty();
    let functions = report.functions();
    let until = begun + asked.limit;
    report.fates = trial::trials(&tests, &functions, asked.jobs, until, |at, fate| {
        report.say(at, fate);
    })?;
    if is_cut_short {
        for fate in &mut report.fates {
            if matches!(fate, Fate::Survived(_)) {
                *fate = Fate::Untested;
            }
        }
    }
    Ok(())
}

impl Fate {
    /// True if a test noticed.
    fn is_noticed(&self) -> bool {
        matches!(self, Fate::Killed(_) | Fate::Endless(_))
    }
}
