//! A result on the terminal, in the files that were asked for and in the user's own page.
#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;

use terminal_size::{Width, terminal_size_of};

use crate::error::{Error, cause};
use crate::record::place::data_dir;
use crate::record::result::ResultFile;
use crate::report::terminal::{self, Style};
use crate::report::{Form, Targets};
use crate::talk::{self, Voice};

/// Refuses reports that could not be written, before anything is measured for them.
///
/// # Errors
///
/// The first of them, and what to do.
pub fn check(targets: &Targets, form: Form) -> Result<(), Error> {
    if form != Form::Table && targets.uses_stdout() {
        return Err(Error::usage(
            "--format and a report to `-` both want standard output: give the report a file",
        ));
    }
    targets
        .check()
        .map_err(|error| Error::usage(error.to_string()))
}

/// Shows a result and writes the reports. The table goes to stdout, or to stderr where a report or
/// a form for programs goes to stdout.
///
/// # Errors
///
/// The form that the result does not fit, or the reports that could not be written; everything
/// else is shown and written.
pub fn publish(result: &ResultFile, form: Form, targets: &Targets) -> Result<(), Error> {
    let formed = form.render(result).map_err(Error::usage);
    let shown = if targets.uses_stdout() || form.is_for_programs() {
        talk::say(terminal::render(result, &style(false)).trim_end());
        talk::data(formed.as_deref().unwrap_or(""))
    } else {
        let table = terminal::render(result, &style(talk::colour()));
        talk::data(&format!("{}{table}", formed.as_deref().unwrap_or("")))
    };
    let shown = shown.and(formed.map(drop));
    let written = targets.write(result).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::failed(lines.join("; "))
    });
    shown.and(written)
}

/// Writes the page that every run leaves in the user's data directory, and says where it is. When
/// that fails it is only said: nobody asked for it.
pub fn keep_page(result: &ResultFile, voice: Voice) {
    match page(result) {
        Ok(path) => voice.note(&format!("report: {}", path.display())),
        Err(why) => voice.warn(&format!("no HTML report: {why}")),
    }
}

fn page(result: &ResultFile) -> Result<PathBuf, String> {
    let dir = data_dir()
        .ok_or("neither XDG_DATA_HOME nor HOME says where: ask for one with --html FILE")?
        .join("reports");
    fs::create_dir_all(&dir).map_err(|error| {
        let (dir, why) = (dir.display(), cause(&error));
        format!("{dir} cannot be made ({why}): ask for one with --html FILE")
    })?;
    let path = dir.join(format!("{}.html", result.run.id));
    let targets = Targets {
        html: Some(path.clone()),
        ..Targets::default()
    };
    match targets.write(result) {
        Ok(()) => Ok(path),
        Err(errors) => Err(errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")),
    }
}

pub(crate) fn style(colour: bool) -> Style {
    let given = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let asked =
        || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    let width = given.or_else(asked).unwrap_or(Style::default().width);
    Style { width, colour }
}
