//! Builds the test programs with all mutants inside, and finds the mutants that do not compile.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use crate::modules::{RACES, Suite};
use crate::mutant::{Mutant, Name};
use crate::scratch::Scratch;
use crate::weave::{self, Woven};

/// A test program.
#[derive(Clone, Debug)]
pub struct Program {
    /// `furlong` for the library's own tests, otherwise the name of the test file.
    pub name: String,
    pub path: PathBuf,
    /// The working directory, since tests look for files from their package's folder.
    pub folder: PathBuf,
    pub filters: Vec<String>,
}

/// A way to change texts: all mutants in them, or an error in every function with mutants.
type Change = fn(&str, &[(usize, &Mutant)]) -> Woven;

/// Sorts mutants, whose numbers count from 1, so that those of a function are consecutive.
pub fn number(mutants: &mut [Mutant]) {
    mutants.sort_by(|a, b| (&a.file, a.body.start, &a.name).cmp(&(&b.file, b.body.start, &b.name)));
}

/// The extent of a build.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// The library as its users get it, which is only checked.
    Library,
    /// The library with its own tests.
    OwnTests,
    AllTests,
}

/// A failed build.
struct Refused {
    /// Numbers of the mutants that contain the errors.
    condemned: BTreeSet<usize>,
    said: String,
}

/// Writes the changed texts and runs cargo. Returns its output, which names the programs.
fn attempt(
    scratch: &Scratch,
    suite: &Suite,
    mutants: &[Mutant],
    change: Change,
    scope: Scope,
) -> io::Result<Result<String, Refused>> {
    let mut by_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        by_file
            .entry(&mutant.file)
            .or_default()
            .push((at + 1, mutant));
    }
    let mut woven = BTreeMap::new();
    for (file, members) in by_file {
        let source = std::fs::read_to_string(scratch.root.join(file))?;
        woven.insert(file.to_string(), change(&source, &members));
    }
    let mut texts: BTreeMap<String, String> = woven
        .iter()
        .map(|(file, woven)| (file.clone(), woven.text.clone()))
        .collect();
    let root = format!("crates/{}/src/lib.rs", suite.package);
    let text = match texts.remove(&root) {
        Some(text) => text,
        None => std::fs::read_to_string(scratch.root.join(&root))?,
    };
    texts.insert(root, weave::with_switch(&text));
    scratch.fill(&texts)?;
    let mut cargo = scratch.cargo(suite.loom);
    match scope {
        Scope::Library => cargo.arg("check"),
        Scope::OwnTests | Scope::AllTests => cargo.args(["test", "--no-run"]),
    };
    cargo
        .args(["--message-format", "short"])
        .args(suite.arguments(scope != Scope::AllTests));
    let out = cargo.output()?;
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    if out.status.success() {
        return Ok(Ok(said));
    }
    let places = said
        .lines()
        .filter(|line| line.contains(": error"))
        .filter_map(place);
    let condemned = places
        .filter_map(|(file, line)| Some(woven.get(file)?.condemned(line)))
        .flatten()
        .collect();
    Ok(Err(Refused { condemned, said }))
}

/// File and line of a compiler's message. Loom's workspace names the library's files from its own
/// folder.
pub(crate) fn place(message: &str) -> Option<(&str, usize)> {
    let mut parts = message.trim_start_matches("../").split(':');
    Some((parts.next()?, parts.next()?.parse().ok()?))
}

/// Names of the mutants in functions that this build compiles. Other functions are for other
/// systems, or only for tests.
pub fn compiled(scratch: &Scratch, suite: &Suite, all: &[Mutant]) -> io::Result<BTreeSet<Name>> {
    let mut all = all.to_vec();
    number(&mut all);
    match attempt(scratch, suite, &all, weave::probe, Scope::Library)? {
        Err(Refused { condemned, .. }) if !condemned.is_empty() => {
            let seen = |at: &usize| condemned.contains(&(at + 1));
            Ok((0..all.len())
                .filter(seen)
                .map(|at| all[at].name.clone())
                .collect())
        }
        Err(Refused { said, .. }) => Err(io::Error::other(said)),
        Ok(_) => Ok(BTreeSet::new()),
    }
}

/// Builds the programs with `count` mutants from the front of `drawn`, without those that the
/// compiler rejects. Also returns the number of rejected ones.
pub fn build(
    scratch: &Scratch,
    suite: &Suite,
    drawn: &[Mutant],
    count: usize,
) -> io::Result<(Vec<Mutant>, Vec<Program>, usize)> {
    let mut refused = BTreeSet::new();
    // More at first: the compiler names most of the rejected ones in the first round.
    let mut many = count + count / 2;
    loop {
        let left = drawn
            .iter()
            .filter(|mutant| !refused.contains(&mutant.name));
        let mut taken: Vec<Mutant> = left.take(many).cloned().collect();
        number(&mut taken);
        // The library is built alone until it compiles, since programs wait for it anyway.
        let mut result = attempt(scratch, suite, &taken, weave::weave, Scope::OwnTests)?;
        if let Ok(own) = &mut result
            && taken.len() <= count
            && suite.has_programs()
        {
            match attempt(scratch, suite, &taken, weave::weave, Scope::AllTests)? {
                Ok(said) => own.push_str(&said),
                refused => result = refused,
            }
        }
        match result {
            Ok(said) if taken.len() <= count => {
                return Ok((taken, programs(scratch, suite, &said), refused.len()));
            }
            Ok(_) => {}
            Err(Refused { condemned, said }) if condemned.is_empty() => {
                return Err(io::Error::other(said));
            }
            Err(Refused { condemned, .. }) => {
                refused.extend(
                    condemned
                        .iter()
                        .map(|number| taken[number - 1].name.clone()),
                );
            }
        }
        many = count;
    }
}

/// The programs in cargo's output: `Executable tests/iova.rs (target/debug/deps/iova-0123)`.
fn programs(scratch: &Scratch, suite: &Suite, said: &str) -> Vec<Program> {
    let one = |line: &str| {
        let (source, path) = line.trim().strip_prefix("Executable ")?.rsplit_once(" (")?;
        let path = scratch.tree.join(path.strip_suffix(')')?);
        let file = path.file_name()?.to_str()?;
        let crate_name = file.rsplit_once('-')?.0;
        let own = source.starts_with("unittests");
        let folder = suite.folder_of(crate_name, own)?;
        Some(Program {
            name: if own {
                suite.package.to_string()
            } else {
                crate_name.to_string()
            },
            folder: scratch.tree.join(folder),
            filters: if own || crate_name == RACES {
                suite.filters.clone()
            } else {
                vec![]
            },
            path,
        })
    };
    // With loom one of them is named twice.
    let named = said.lines().filter_map(one);
    let by_path: BTreeMap<PathBuf, Program> = named.map(|one| (one.path.clone(), one)).collect();
    by_path.into_values().collect()
}
