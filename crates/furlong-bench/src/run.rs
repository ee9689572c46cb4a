//! Blocks, and a process for each sample.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use furlong_stats::judge_together;
use furlong_stats::random::Random;
use furlong_stats::value::{
    Better, CONTROL, ExperimentResult, Kind, Metric, ResultFile, Run, SCHEMA, WorkloadResult,
};

use crate::bencher::Bencher;
use crate::calibrate::calibrate;
use crate::hash::fnv1a;
use crate::machine::Files;
use crate::options::{HELP, Mode, Options};
use crate::protocol::{COUNT, LIST, Outcome, VARIABLE};
use crate::{Arm, Group, report};

/// The metric.
const TIME: &str = "time_ns_per_op";

pub(crate) fn main(groups: &[Group]) -> ExitCode {
    match env::var(VARIABLE).as_deref() {
        Ok(LIST) => return ended(check(groups).and_then(|()| names(groups))),
        Ok(asked) => return ended(sample(groups, asked)),
        Err(_) => {}
    }
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("furlong-bench: {wrong}");
            return ExitCode::from(2);
        }
    };
    if let Err(wrong) = check(groups) {
        eprintln!("furlong-bench: {wrong}");
        return ExitCode::from(2);
    }
    let chosen: Vec<&Group> = groups
        .iter()
        .filter(|group| is_chosen(group, &options))
        .collect();
    match options.mode {
        Mode::Help => ended(write(HELP)),
        Mode::List => ended(list(&chosen)),
        Mode::Test => ended(test(&chosen)),
        Mode::Measure => ended(measure(&chosen, &options)),
    }
}

/// Refuses benchmarks that could not be told apart.
fn check(groups: &[Group]) -> Result<(), String> {
    for group in groups {
        for (at, arm) in group.arms.iter().enumerate() {
            let (group_name, name) = (&group.name, &arm.name);
            if group.arms[..at].iter().any(|other| other.name == *name) {
                return Err(format!("the group {group_name} has two benchmarks {name}"));
            }
            if name == CONTROL {
                return Err(format!(
                    "{group_name}: {CONTROL} is the name of the repeated baseline"
                ));
            }
        }
    }
    Ok(())
}

fn is_chosen(group: &Group, options: &Options) -> bool {
    let fits = |name: &str| options.filters.iter().any(|part| name.contains(part));
    options.filters.is_empty() || fits(&group.name) || group.arms.iter().any(|arm| fits(&arm.name))
}

fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("furlong-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn write(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|error| format!("standard output: {error}"))
}

/// Lists benchmarks as the standard test harness does, for editors and other tools.
fn list(groups: &[&Group]) -> Result<(), String> {
    for group in groups {
        for arm in &group.arms {
            write(&format!("{}/{}: benchmark", group.name, arm.name))?;
        }
    }
    Ok(())
}

/// Lists benchmarks for a program that measures them. A name may contain any character.
fn names(groups: &[Group]) -> Result<(), String> {
    let pairs = |group: &Group| -> Vec<(String, String)> {
        let arms = group.arms.iter();
        arms.map(|arm| (group.name.clone(), arm.name.clone()))
            .collect()
    };
    let pairs: Vec<_> = groups.iter().flat_map(pairs).collect();
    write(&serde_json::to_string(&pairs).map_err(|error| error.to_string())?)
}

/// Runs one sample of an arm in this process.
fn once(group: &Group, arm: &Arm, operations: u64, seed: u64) -> Result<Outcome, String> {
    let mut bencher = Bencher::new(operations, seed);
    if env::var_os(COUNT).is_some() {
        bencher = bencher.at_once();
    }
    (arm.run)(&mut bencher);
    let name = (&group.name, &arm.name);
    bencher
        .outcome
        .ok_or_else(|| format!("{}/{} calls no loop of its bencher", name.0, name.1))
}

/// Runs each benchmark once, and compares the answers.
fn test(groups: &[&Group]) -> Result<(), String> {
    for group in groups {
        let mut expected = None;
        for arm in &group.arms {
            let digest = once(group, arm, 3, 1)?.digest;
            same_answers(group, &arm.name, *expected.get_or_insert(digest), digest)?;
            write(&format!("test {}/{} ... ok", group.name, arm.name))?;
        }
    }
    Ok(())
}

fn same_answers(group: &Group, arm: &str, one: u64, other: u64) -> Result<(), String> {
    if one == other {
        return Ok(());
    }
    let (group, first) = (&group.name, &group.arms[0].name);
    Err(format!(
        "{group}: {arm} gives other answers than {first} on the same inputs"
    ))
}

/// Takes the sample that a parent process asked for.
fn sample(groups: &[Group], asked: &str) -> Result<(), String> {
    let asked: (String, String, u64, u64) =
        serde_json::from_str(asked).map_err(|error| format!("{VARIABLE}: {error}"))?;
    let (group, arm, operations, seed) = asked;
    let group = groups
        .iter()
        .find(|one| one.name == group)
        .ok_or("no such group")?;
    let arm = group
        .arms
        .iter()
        .find(|one| one.name == arm)
        .ok_or("no such benchmark")?;
    let outcome = once(group, arm, operations, seed)?;
    write(&serde_json::to_string(&outcome).map_err(|error| error.to_string())?)
}

/// Takes a sample in a process of its own.
fn spawn(group: &Group, arm: &Arm, operations: u64, seed: u64) -> Result<Outcome, String> {
    let program = env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let asked = serde_json::to_string(&(&group.name, &arm.name, operations, seed));
    let asked = asked.map_err(|error| error.to_string())?;
    let child = Command::new(program)
        .env(VARIABLE, asked)
        .stderr(Stdio::inherit())
        .output();
    let output = child.map_err(|error| format!("a sample cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // What the benchmark itself prints comes before.
    let line = text.lines().last().unwrap_or_default();
    let outcome = serde_json::from_str(line)
        .ok()
        .filter(|_| output.status.success());
    outcome.ok_or_else(|| {
        format!(
            "{}/{}: the sample failed ({})",
            group.name, arm.name, output.status
        )
    })
}

fn measure(groups: &[&Group], options: &Options) -> Result<(), String> {
    let metric = Metric {
        unit: "ns".to_owned(),
        better: Better::Lower,
        kind: Kind::Sampled,
        primary: true,
        margin_pct: Some(options.margin_pct),
        about: "time of one operation".to_owned(),
    };
    let metrics = BTreeMap::from([(TIME.to_owned(), metric)]);
    let name = program_name();
    let mut file = ResultFile {
        schema: SCHEMA.to_owned(),
        run: this_run(options),
        experiments: vec![ExperimentResult {
            question: format!("Benchmarks of {name}"),
            name,
            metrics: metrics.clone(),
            metric_order: vec![TIME.to_owned()],
            ..ExperimentResult::default()
        }],
    };
    // Written before anything is measured, so that a bad path is told at once, and after every
    // group, so that nothing measured is lost.
    save(&file, options)?;
    let mut printed = vec![];
    for group in groups.iter().filter(|group| !group.arms.is_empty()) {
        let results = &mut file.experiments[0].workloads;
        results.push(run_group(group, options)?);
        judge_together(results, &metrics, &[TIME.to_owned()], None);
        let lines = results.last().map(|result| report::group(result, TIME));
        let lines = lines.unwrap_or_default();
        write(&lines)?;
        printed.push(lines);
        save(&file, options)?;
    }
    // A control that failed among few groups can pass among more: one of many fails by chance.
    for (before, result) in printed.iter().zip(&file.experiments[0].workloads) {
        let lines = report::group(result, TIME);
        if lines != *before {
            write(&format!("judged again among all groups: {lines}"))?;
        }
    }
    Ok(())
}

/// Writes the result where the user asked for it: whole under another name, then renamed.
fn save(file: &ResultFile, options: &Options) -> Result<(), String> {
    let Some(path) = &options.json else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(file).map_err(|error| error.to_string())?;
    let mut whole = path.clone().into_os_string();
    whole.push(".new");
    let written = std::fs::write(&whole, text + "\n").and_then(|()| std::fs::rename(&whole, path));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// Measures a group: all its blocks.
fn run_group(group: &Group, options: &Options) -> Result<WorkloadResult, String> {
    let key = options.seed ^ fnv1a(group.name.as_bytes());
    let mut random = Random::new(key);
    let seed = random.bits();
    let operations = calibrate(options.time_s, 1, |operations| {
        let outcome = spawn(group, &group.arms[0], operations, seed)?;
        Ok::<_, String>((outcome.operations, outcome.elapsed_s))
    })?;
    let places = group.arms.len() + 1;
    let mut values: Vec<Vec<Option<f64>>> = vec![vec![]; places];
    let mut order = vec![];
    for _ in 0..options.blocks {
        let seed = random.bits();
        let mut turn: Vec<usize> = (0..places).collect();
        random.shuffle(&mut turn);
        let mut expected = None;
        for &place in &turn {
            // The last place is the control: the baseline again.
            let arm = group.arms.get(place).unwrap_or(&group.arms[0]);
            let outcome = spawn(group, arm, operations, seed)?;
            let digest = outcome.digest;
            same_answers(group, &arm.name, *expected.get_or_insert(digest), digest)?;
            values[place].push(Some(
                1e9 * outcome.elapsed_s / outcome.operations.max(1) as f64,
            ));
        }
        let name = |place: &usize| {
            let arm = group.arms.get(*place);
            arm.map_or(CONTROL.to_owned(), |arm| arm.name.clone())
        };
        order.push(turn.iter().map(name).collect());
    }
    let control = values.pop().unwrap_or_default();
    let arms = group.arms.iter().map(|arm| arm.name.as_str()).zip(values);
    let mut workload = WorkloadResult::sampled(&group.name, TIME, arms, control);
    workload.order = order;
    let operations = ("operations".to_owned(), operations.into());
    workload.params = BTreeMap::from([operations]);
    Ok(workload)
}

/// The name of the benchmark's target: that of the file without cargo's hash.
fn program_name() -> String {
    let file = env::current_exe().ok();
    let stem = file.as_deref().and_then(Path::file_stem);
    let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 => name.to_owned(),
        _ => stem,
    }
}

fn this_run(options: &Options) -> Run {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let id = fnv1a(format!("{since:?} {}", std::process::id()).as_bytes());
    Run {
        id: format!("{:08x}", id as u32),
        started: report::date(since.as_secs()),
        command: env::args().collect(),
        profile: "quick".to_owned(),
        seed: options.seed,
        version: format!("furlong-bench {}", env!("CARGO_PKG_VERSION")),
        revision: revision(),
        machine: Files::default().machine(),
        ..Run::default()
    }
}

/// The commit of the repository around the working directory, with `+` if files have changed.
fn revision() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() {
        commit
    } else {
        commit + "+"
    })
}
