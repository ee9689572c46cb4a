//! The benchmarks of two checkouts: from what cargo printed to those that both have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::repository::{Pair, Repository};
use crate::cmd::compare::{Sides, Suite};
use crate::error::{Error, cause};
use crate::measure::benchmarks::{Benchmark, InLayouts, Program, Programs};
use crate::measure::interrupt::Interrupt;
use crate::measure::sampler::SampleError;

/// Builds all bench programs of a package or workspace.
const BUILD: &str = "cargo bench --no-run";

/// Makes cargo print the executables that it built.
const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// The harness that can run a single sample.
const HARNESS: &str = "furlong-bench";

/// A revision whose bench programs are built.
struct Side<'a> {
    name: &'a str,
    folder: &'a Path,
    /// Output of its build.
    log: &'a Path,
}

/// Returns the command that builds the bench programs of a revision.
///
/// # Errors
///
/// The repository has no cargo package at its top, and no command is given.
pub(in crate::cmd) fn build(repository: &Repository, given: Option<&str>) -> Result<String, Error> {
    if given.is_none() && !repository.top.join("Cargo.toml").is_file() {
        let why = "there is no Cargo.toml: say with --build how cargo bench is built (or give ab \
                   a command after --)";
        return Err(Error::usage(why));
    }
    Ok(format!("{} {MESSAGES}", given.unwrap_or(BUILD)))
}

/// Returns the common benchmarks of two revisions as the sides of a comparison.
///
/// # Errors
///
/// There is nothing to compare, or a program cannot be run.
pub(in crate::cmd) fn sides(
    comparison: &str,
    pair: &Pair,
    filters: &[String],
    layouts: u32,
) -> Result<Sides, Error> {
    let names = pair.names();
    let logs = pair.built.each_ref();
    let logs = logs.map(|one| one.folder.with_extension("log"));
    let side = |at: usize| Side {
        name: &names[at],
        folder: &pair.built[at].folder,
        log: &logs[at],
    };
    Ok(Sides {
        comparison: Some(comparison.to_owned()),
        suite: Some(Suite {
            layouts: (layouts > 0).then(|| InLayouts {
                number: layouts,
                checkouts: pair.built.iter().map(|one| one.folder.clone()).collect(),
            }),
            ..common(&[side(0), side(1)], filters)?
        }),
        facts: pair.facts(layouts),
        names,
        ..Sides::default()
    })
}

/// Benchmarks by the names of their workloads, each with its program, group and name.
type Listed = BTreeMap<String, (Program, String, String)>;

/// Returns the benchmarks whose name contains a filter, if there is one. One that a revision lacks
/// is left out by name.
///
/// # Errors
///
/// There is nothing to compare, or a program cannot be run.
fn common(sides: &[Side<'_>; 2], filters: &[String]) -> Result<Suite, Error> {
    let interrupt = Interrupt::default();
    let runner = Programs::new(interrupt)?;
    let mut suite = Suite::default();
    let [mut base, mut head] = [Listed::new(), Listed::new()];
    let mut foreign = BTreeSet::new();
    let built = [programs(&sides[0])?, programs(&sides[1])?];
    if sides[0].folder != sides[1].folder {
        refuse_shared(&built)?;
    }
    for ((side, listed), built) in sides.iter().zip([&mut base, &mut head]).zip(built) {
        for (label, program) in built {
            let names = runner
                .list(&program)
                .map_err(|error| cannot(side, &label, error))?;
            let Some(names) = names else {
                foreign.insert(label);
                continue;
            };
            for (group, bench) in names {
                let workload = format!("{label}/{group}/{bench}");
                let fits = |filter: &String| workload.contains(filter);
                if filters.is_empty() || filters.iter().any(fits) {
                    listed.insert(workload, (program.clone(), group, bench));
                }
            }
        }
    }
    for (workload, (program, group, bench)) in &base {
        if let Some((other, ..)) = head.get(workload) {
            suite.benchmarks.push(Benchmark {
                workload: workload.clone(),
                group: group.clone(),
                bench: bench.clone(),
                programs: vec![program.clone(), other.clone()],
            });
        }
    }
    for ((side, own), other) in sides.iter().zip([&base, &head]).zip([&head, &base]) {
        let alone = own.keys().filter(|name| !other.contains_key(*name));
        let alone = named(&format!("only in {}", side.name), alone.cloned());
        suite.left_out.extend(alone);
    }
    let harness = format!("programs without {HARNESS}");
    suite.left_out.extend(named(&harness, foreign));
    if suite.benchmarks.is_empty() {
        let mut why = match filters {
            [] => format!("both revisions have no benchmark of {HARNESS} in common"),
            _ => format!(
                "no benchmark that both revisions have contains {}",
                filters.join(" or ")
            ),
        };
        for left_out in &suite.left_out {
            why.push_str("; ");
            why.push_str(left_out);
        }
        return Err(Error::usage(format!(
            "{why}; a command after -- is timed instead"
        )));
    }
    Ok(suite)
}

/// Refuses programs that both sides have built at one place, as with a target folder for all in
/// cargo's configuration: the second build has replaced the first.
fn refuse_shared(built: &[BTreeMap<String, Program>; 2]) -> Result<(), Error> {
    let [base, head] = built.each_ref().map(|programs| {
        let files = programs.values().map(|program| &program.file);
        let real = files.map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone()));
        real.collect::<BTreeSet<_>>()
    });
    match base.intersection(&head).next() {
        None => Ok(()),
        Some(file) => Err(Error::usage(format!(
            "both revisions were built as {}, so that only one is left: build them with a folder \
             of their own, as --build 'cargo bench --no-run --target-dir target'",
            file.display()
        ))),
    }
}

/// `only in main: a, b`.
fn named(what: &str, names: impl IntoIterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

fn cannot(side: &Side<'_>, label: &str, error: SampleError) -> Error {
    let why = match error {
        SampleError::Failed(why) | SampleError::Fatal(why) => why,
        SampleError::Interrupted => "interrupted".to_owned(),
    };
    Error::failed(format!("{label} of {} cannot list: {why}", side.name))
}

/// Returns the bench programs of a build, by name. If packages have targets of one name, the folder
/// of the package is part of the name.
fn programs(side: &Side<'_>) -> Result<BTreeMap<String, Program>, Error> {
    let text = fs::read(side.log).map_err(|error| {
        let (log, why) = (side.log.display(), cause(&error));
        Error::failed(format!("{log} cannot be read: {why}"))
    })?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| is_message(line));
    let found = lines.filter_map(|line| program(&serde_json::from_str(line).ok()?));
    let found: Vec<(String, Program)> = found.collect();
    // cargo tells paths without symbolic links.
    let folder = fs::canonicalize(side.folder).unwrap_or_else(|_| side.folder.to_owned());
    let label = |(target, program): &(String, Program)| {
        let alike = found.iter().filter(|(other, _)| other == target);
        let within = program.folder.strip_prefix(&folder);
        match within {
            Ok(within) if alike.count() > 1 => format!("{}/{target}", within.display()),
            _ => target.clone(),
        }
    };
    let labelled = found.iter().map(|one| (label(one), one.1.clone()));
    Ok(labelled.collect())
}

/// True for a line that cargo prints for programs.
pub(super) fn is_message(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"reason\":")
}

/// Returns the bench program of a message with its target's name, if it is about one.
fn program(message: &Value) -> Option<(String, Program)> {
    let target = &message["target"];
    let mut kinds = target["kind"].as_array()?.iter();
    if !kinds.any(|kind| kind == "bench") {
        return None;
    }
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let program = Program {
        file: message["executable"].as_str()?.into(),
        folder: manifest.parent()?.to_owned(),
    };
    Some((target["name"].as_str()?.to_owned(), program))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Side, programs};

    #[test]
    fn programs_are_found_among_what_a_build_prints() {
        let message = |dir: &str, kind: &str, name: &str| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": format!("/r/{dir}/Cargo.toml"),
                "target": { "kind": [kind], "name": name },
                "executable": format!("/r/target/{dir}-{name}"),
            })
            .to_string()
        };
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("log");
        let lines = [
            message("a", "bench", "sort"),
            "   Compiling a v0.1.0".to_owned(),
            message("b", "bench", "sort"),
            message("a", "bench", "map"),
            message("a", "lib", "a"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        std::fs::write(&log, lines.join("\n")).unwrap();
        let side = Side {
            name: "main",
            folder: Path::new("/r"),
            log: &log,
        };
        let found = programs(&side).unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["a/sort", "b/sort", "map"]);
        assert_eq!(found["b/sort"].file, Path::new("/r/target/b-sort"));
        assert_eq!(found["b/sort"].folder, Path::new("/r/b"));
    }
}
