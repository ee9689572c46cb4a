//! Files as sets, of numbers or of another tool.
#![forbid(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::fault::{Fault, InputError, shown};
use super::foreign::{self, HEAD_BYTES, Series, Tool, listed};
use super::input::{Reading, Set, Skipped, VALUES_MIN, read_from};

/// Rules for reading files.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// For files of numbers.
    pub reading: Reading,
    /// True to recognize other tools' files.
    pub foreign: bool,
    /// For another tool's file: only the series whose name contains this.
    pub series: Option<&'a str>,
}

/// Content of a file.
enum Found {
    Numbers(Set),
    Foreign(Tool, Vec<Series>),
}

/// The sets of all files: one per file. If the only file has commands or benchmarks, there is one
/// set for each of them.
///
/// # Errors
/// The first file without a set, or with several if it must have one.
pub fn read_all(files: &[OsString], source: &Source<'_>) -> Result<Vec<Set>, InputError> {
    let mut sets = vec![];
    for name in files {
        let refuse = |fault| InputError {
            name: name.clone(),
            fault,
        };
        match read(name, source)? {
            Found::Numbers(set) => sets.push(set),
            Found::Foreign(tool, all) => {
                let alone = files.len() == 1 && tool.compares_within();
                if all.len() > 1 && !alone {
                    let names: Vec<String> = all.into_iter().map(|one| one.name).collect();
                    return Err(refuse(Fault::Foreign(format!(
                        "holds several series; choose one with --series: {}",
                        listed(&names)
                    ))));
                }
                let several = all.len() > 1;
                for one in all {
                    sets.push(set(name, one, several).map_err(refuse)?);
                }
            }
        }
    }
    Ok(sets)
}

/// A series as a set, with its own name if the file has several.
fn set(file: &OsStr, series: Series, several: bool) -> Result<Set, Fault> {
    if series.values.len() < VALUES_MIN {
        let (name, found) = (shown(series.name.as_bytes()), series.values.len());
        let plural = if found == 1 { "" } else { "s" };
        return Err(Fault::Foreign(format!(
            "`{name}` has {found} value{plural}; at least {VALUES_MIN} are needed: repeat the \
             measurement into the same file"
        )));
    }
    let mut name = file.to_os_string();
    if several {
        name.push(format!(": {}", shown(series.name.as_bytes())));
    }
    Ok(Set {
        name,
        values: series.values,
        skipped: Skipped::default(),
    })
}

fn read(name: &OsStr, source: &Source<'_>) -> Result<Found, InputError> {
    if name == "-" {
        let stdin = BufReader::with_capacity(1 << 16, io::stdin().lock());
        return read_either(OsStr::new("<stdin>"), stdin, source);
    }
    let refuse = |fault| InputError {
        name: name.to_os_string(),
        fault,
    };
    let file = File::open(name).map_err(|error| refuse(Fault::Open(error)))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(refuse(Fault::Directory));
    }
    read_either(name, BufReader::with_capacity(1 << 16, file), source)
}

fn read_either(
    name: &OsStr,
    mut input: impl BufRead,
    source: &Source<'_>,
) -> Result<Found, InputError> {
    let refuse = |fault| InputError {
        name: name.to_os_string(),
        fault,
    };
    let broken = |error| refuse(Fault::Read { line: 1, error });
    let mut head = vec![];
    if source.foreign {
        let taken = input
            .by_ref()
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head);
        taken.map_err(broken)?;
        if foreign::may_be_foreign(&head) {
            input.read_to_end(&mut head).map_err(broken)?;
            let text = String::from_utf8_lossy(&head);
            let found = foreign::read(&text, source.series);
            let (tool, all) = found.map_err(|what| refuse(Fault::Foreign(what)))?;
            return Ok(Found::Foreign(tool, all));
        }
    }
    read_from(name, head.chain(input), &source.reading).map(Found::Numbers)
}
