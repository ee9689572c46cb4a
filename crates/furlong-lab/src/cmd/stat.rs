//! `furlong stat`: comparison of files of numbers; accepts ministat's options and has more.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgAction::SetTrue;

use crate::error::{Error, cause};
use crate::ministat::classic::{self, Classic};
use crate::ministat::comparison::Test;
use crate::ministat::fault::shown;
use crate::ministat::input::{Reading, Set};
use crate::ministat::options;
use crate::ministat::picture::{Picture, SYMBOLS};
use crate::ministat::report::Report;
use crate::ministat::source::{self, Source};
use crate::nearest::nearest;
use crate::report::{Target, json};

/// Default width of the picture.
const WIDTH: usize = 74;

const EXAMPLES: &str = "\
Examples:
  furlong stat before.txt after.txt
  furlong stat --test mann-whitney before.txt after.txt
  furlong stat --ministat -c 99 before.txt after.txt";

/// Compare files of numbers, one number per line, with the first of them. The output of hyperfine
/// (JSON), benchstat (Go's lines), criterion (sample.json) and `perf stat` is accepted too.
///
/// Prints each file's number of values, range, median, mean and deviation, a picture, and the tests
/// of the differences. Without a file, or for `-`, the numbers come from standard input.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files of numbers, up to seven; the others are compared with the first [default: standard
    /// input].
    #[arg(value_name = "FILE")]
    pub files: Vec<OsString>,

    /// Print no picture.
    #[arg(short = 'A', action = SetTrue, overrides_with = "no_picture")]
    pub no_picture: bool,

    /// Column to read, counted from 1.
    #[arg(short = 'C', value_name = "COLUMN", default_value = "1")]
    #[arg(overrides_with = "column", allow_hyphen_values = true)]
    pub column: String,

    /// Confidence of the intervals, per cent.
    #[arg(short = 'c', value_name = "PCT", default_value = "95")]
    #[arg(overrides_with = "confidence", allow_hyphen_values = true)]
    pub confidence: String,

    /// Characters that separate columns [default: blank and tab].
    #[arg(short = 'd', value_name = "CHARS")]
    #[arg(overrides_with = "delimiters", allow_hyphen_values = true)]
    pub delimiters: Option<OsString>,

    /// Print only the summary of each file: no picture, no comparison.
    #[arg(short = 'n', action = SetTrue, overrides_with = "summary_only")]
    pub summary_only: bool,

    /// Draw bars on separate lines; without --ministat they always are.
    #[arg(short = 's', action = SetTrue, overrides_with = "separate")]
    pub separate: bool,

    /// Width of the picture [default: the terminal's, or 74].
    #[arg(short = 'w', value_name = "COLUMNS")]
    #[arg(overrides_with = "width", allow_hyphen_values = true)]
    pub width: Option<String>,

    /// Print byte for byte what ministat prints, with its exit codes.
    #[arg(long)]
    pub ministat: bool,

    /// Test that decides.
    #[arg(
        long,
        value_name = "TEST",
        default_value = "welch",
        conflicts_with = "ministat"
    )]
    pub test: Test,

    /// File or series that the others are compared with [default: the first].
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Read only the commands, benchmarks or events of other tools' output whose name contains
    /// this.
    #[arg(long, value_name = "TEXT", conflicts_with = "ministat")]
    pub series: Option<String>,

    /// Write the summary and the tests as JSON (`furlong.stat/1`) to this file; `-` is standard
    /// output.
    #[arg(long, value_name = "FILE", conflicts_with = "ministat")]
    pub json: Option<PathBuf>,
}

/// Executes the verb, with data on standard output and errors on standard error.
pub fn run(args: &Args) -> ExitCode {
    match perform(args, &mut BufWriter::new(io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is closed too, the failure cannot be reported.
            let _ = writeln!(io::stderr(), "furlong stat: {}", failure.message);
            failure.exit.into()
        }
    }
}

fn perform(args: &Args, out: &mut impl Write) -> Result<(), Error> {
    let picture = picture(args)?;
    let level = options::confidence(&args.confidence, args.ministat)?;
    let sets = rebased(read_all(args)?, args.baseline.as_deref())?;
    let tests = !args.summary_only;
    if args.ministat {
        let options = classic::Options {
            confidence: level,
            picture,
            tests,
        };
        let classic = Classic::new(sets, options)?;
        return written(classic.write(out));
    }
    if args.test == Test::Paired {
        check_pairs(&sets)?;
    }
    let option = "--json";
    let target = args.json.as_deref().map(|path| Target { option, path });
    if let Some(target) = target {
        target.check()?;
    }
    let report = Report::new(&sets, level, tests.then_some(args.test))?;
    if let Some(target) = target {
        target.put(json::figures(&report).as_bytes())?;
        if target.is_stdout() {
            return Ok(());
        }
    }
    written(report.write(&sets, picture.as_ref(), out))
}

/// Returns the sets with the baseline first.
fn rebased(mut sets: Vec<Set>, baseline: Option<&str>) -> Result<Vec<Set>, Error> {
    let Some(wanted) = baseline else {
        return Ok(sets);
    };
    let names: Vec<String> = sets
        .iter()
        .map(|set| shown(set.name.as_encoded_bytes()))
        .collect();
    let is_meant = |name: &&String| **name == wanted || name.ends_with(&format!(": {wanted}"));
    let Some(place) = names.iter().position(|name| is_meant(&name)) else {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let guess =
            nearest(wanted, &known).map_or(String::new(), |name| format!("; did you mean {name}?"));
        return Err(Error::usage(format!(
            "--baseline: there is no `{wanted}`{guess}"
        )));
    };
    let base = sets.remove(place);
    sets.insert(0, base);
    Ok(sets)
}

/// Checks that the sets have the same number of values, as pairs need.
fn check_pairs(sets: &[Set]) -> Result<(), Error> {
    let Some((base, others)) = sets.split_first() else {
        return Ok(());
    };
    match others
        .iter()
        .find(|set| set.values.len() != base.values.len())
    {
        None => Ok(()),
        Some(other) => Err(Error::usage(format!(
            "--test paired: {} has {} values and {} has {}; give one value of each for every run",
            shown(base.name.as_encoded_bytes()),
            base.values.len(),
            shown(other.name.as_encoded_bytes()),
            other.values.len()
        ))),
    }
}

/// Returns the requested picture. A bad width is refused even if there is no picture.
fn picture(args: &Args) -> Result<Option<Picture>, Error> {
    let width = match &args.width {
        Some(word) => options::width(word, args.ministat)?,
        None => terminal_width(args.ministat).unwrap_or(WIDTH),
    };
    let picture = Picture {
        separate: args.separate || !args.ministat,
        classic: args.ministat,
        ..Picture::new(width)
    };
    Ok((!args.no_picture && !args.summary_only).then_some(picture))
}

/// Returns the width that the terminal has room for, if standard output is one: `COLUMNS`, or the
/// terminal's own width less the borders.
fn terminal_width(classic: bool) -> Option<usize> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let told = std::env::var("COLUMNS").ok().filter(|c| !c.is_empty());
    if let Some(told) = told {
        let digits = told.trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let columns = digits[..end.unwrap_or(digits.len())].parse().unwrap_or(0);
        return (classic || columns >= 2).then_some(columns.min(10_000));
    }
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(out)?;
    // A corrected picture names the set behind each bar.
    let border = if classic { 2 } else { 4 };
    let width = usize::from(columns).checked_sub(border)?;
    (classic || width >= 2).then_some(width)
}

fn read_all(args: &Args) -> Result<Vec<Set>, Error> {
    let reading = Reading {
        column: options::column(&args.column)?,
        delimiters: match &args.delimiters {
            Some(chars) => options::delimiters(chars.as_encoded_bytes())?,
            None => Reading::default().delimiters,
        },
        classic: args.ministat,
    };
    let stdin = [OsString::from("-")];
    let files = if args.files.is_empty() {
        &stdin
    } else {
        args.files.as_slice()
    };
    if files.len() > SYMBOLS.len() {
        return Err(Error::usage(format!(
            "{} files are too many; compare at most {} at once",
            files.len(),
            SYMBOLS.len()
        )));
    }
    let source = Source {
        reading,
        // A column or a delimiter means that the file is a table.
        foreign: !args.ministat && args.delimiters.is_none() && args.column.trim() == "1",
        series: args.series.as_deref(),
    };
    let sets = source::read_all(files, &source)?;
    if sets.len() > SYMBOLS.len() {
        return Err(Error::usage(format!(
            "{} series are too many; compare at most {} at once: choose with --series",
            sets.len(),
            SYMBOLS.len()
        )));
    }
    Ok(sets)
}

/// Translates a failed write. A reader that is gone (`furlong stat f | head -1`) is not a failure;
/// a full disk is.
fn written(outcome: io::Result<()>) -> Result<(), Error> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::failed(format!("cannot write: {}", cause(&error))))
        }
        _ => Ok(()),
    }
}
