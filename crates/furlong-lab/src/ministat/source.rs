//! Files as sets, of numbers or of another tool.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::fault::{shown, unusable};
use super::foreign::{self, HEAD_BYTES, Series, Tool, listed};
use super::input::{Reading, Set, Skipped, VALUES_MIN, read_from};
use crate::error::{Error, Exit, cause};

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
pub fn read_all(files: &[OsString], source: &Source<'_>) -> Result<Vec<Set>, Error> {
    let mut sets = vec![];
    for name in files {
        match read(name, source)? {
            Found::Numbers(set) => sets.push(set),
            Found::Foreign(tool, all) => {
                let alone = files.len() == 1 && tool.compares_within();
                if all.len() > 1 && !alone {
                    let names: Vec<String> = all.into_iter().map(|one| one.name).collect();
                    let names = listed(&names);
                    let why = format!("holds several series; choose one with --series: {names}");
                    return Err(unusable(name, why));
                }
                let several = all.len() > 1;
                for one in all {
                    sets.push(set(name, one, several)?);
                }
            }
        }
    }
    Ok(sets)
}

/// A series as a set, with its own name if the file has several.
fn set(file: &OsStr, series: Series, several: bool) -> Result<Set, Error> {
    if series.values.len() < VALUES_MIN {
        let (name, found) = (shown(series.name.as_bytes()), series.values.len());
        let plural = if found == 1 { "" } else { "s" };
        let why = format!(
            "`{name}` has {found} value{plural}; at least {VALUES_MIN} are needed: repeat the \
             measurement into the same file"
        );
        return Err(unusable(file, why));
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

fn read(name: &OsStr, source: &Source<'_>) -> Result<Found, Error> {
    if name == "-" {
        let stdin = BufReader::with_capacity(1 << 16, io::stdin().lock());
        return read_either(OsStr::new("<stdin>"), stdin, source);
    }
    let file = File::open(name).map_err(|error| {
        let mut unopened = unusable(name, format!("cannot be opened: {}", cause(&error)));
        if source.reading.classic {
            unopened.exit = Exit::Failed;
        }
        unopened
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(unusable(name, "is a directory; name a file of numbers"));
    }
    read_either(name, BufReader::with_capacity(1 << 16, file), source)
}

fn read_either(name: &OsStr, mut input: impl BufRead, source: &Source<'_>) -> Result<Found, Error> {
    let broken = |error| unusable(name, format!("line 1: cannot be read: {}", cause(&error)));
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
            let (tool, all) = found.map_err(|what| unusable(name, what))?;
            return Ok(Found::Foreign(tool, all));
        }
    }
    read_from(name, head.chain(input), &source.reading).map(Found::Numbers)
}
