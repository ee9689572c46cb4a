//! Files as sets, of numbers or of another tool.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Read};

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

/// The sets of all files: one per file. If the only file has commands or benchmarks, there is one
/// set for each of them.
///
/// # Errors
/// The first file without a set, or with several if it must have one.
pub fn read_all(files: &[OsString], source: &Source<'_>) -> Result<Vec<Set>, Error> {
    let mut sets = vec![];
    for name in files {
        sets.extend(read(name, source, files.len() == 1)?);
    }
    Ok(sets)
}

/// The series of another tool's file as sets, with their own names if there are several.
fn of_tool(name: &OsStr, tool: Tool, all: Vec<Series>, is_alone: bool) -> Result<Vec<Set>, Error> {
    let several = all.len() > 1;
    if several && !(is_alone && tool.compares_within()) {
        let names: Vec<String> = all.into_iter().map(|one| one.name).collect();
        let names = listed(&names);
        let why = format!(
            "holds several series; choose one with --series: {names} (furlong diff compares all)"
        );
        return Err(unusable(name, why));
    }
    if tool.is_summary() {
        let why = format!(
            "is a table of {tool}, which has medians only: give the values, or keep it by furlong \
             import"
        );
        return Err(unusable(name, why));
    }
    all.into_iter().map(|one| set(name, one, several)).collect()
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

fn read(name: &OsStr, source: &Source<'_>, is_alone: bool) -> Result<Vec<Set>, Error> {
    let (name, input): (&OsStr, Box<dyn Read>) = match name == "-" {
        true => (OsStr::new("<stdin>"), Box::new(io::stdin().lock())),
        false => (name, Box::new(open(name, source.reading.classic)?)),
    };
    let mut input = BufReader::with_capacity(1 << 16, input);
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
            let found = foreign::chosen(&text, source.series);
            let (tool, all) = found.map_err(|what| unusable(name, what))?;
            return of_tool(name, tool, all, is_alone);
        }
    }
    Ok(vec![read_from(name, head.chain(input), &source.reading)?])
}

fn open(name: &OsStr, classic: bool) -> Result<File, Error> {
    let file = File::open(name).map_err(|error| {
        let mut unopened = unusable(name, format!("cannot be opened: {}", cause(&error)));
        if classic {
            unopened.exit = Exit::Failed;
        }
        unopened
    })?;
    match file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        true => Err(unusable(name, "is a directory; name a file of numbers")),
        false => Ok(file),
    }
}
