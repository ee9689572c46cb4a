//! Output of a result: to the terminal, to the requested files and to the user's own page.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use terminal_size::{Width, terminal_size_of};

use crate::error::{Error, cause};
use crate::model::result::ResultFile;
use crate::options::Pages;
use crate::record::build;
use crate::record::place::{data_dir, private_dir, write_private};
use crate::report::sheet::Sheet;
use crate::report::terminal::{self, Style};
use crate::report::{Target, Targets, html, json};
use crate::talk::{self, Voice};

/// Shows a result, its details or only the answer, and writes the reports. The text goes to stdout,
/// or to stderr if a report goes to stdout.
///
/// # Errors
///
/// Reports could not be written. Everything else is shown and written.
pub fn publish(result: &ResultFile, targets: &Targets, details: bool) -> Result<(), Error> {
    let of = |colour| Style {
        time_unit: targets.exports.time_unit,
        ..style(colour)
    };
    let form = if details {
        terminal::render
    } else {
        terminal::answer
    };
    let shown = if targets.uses_stdout() {
        talk::say(form(result, &of(false)).trim_end());
        Ok(())
    } else {
        talk::data(&form(result, &of(talk::colour())))
    };
    // Written even if nothing can be shown.
    let written = targets.write(result);
    shown.and(written)
}

/// Refuses pages that could not be written, before anything is done.
///
/// # Errors
///
/// The first such page, with a remedy.
pub fn check_pages(pages: &Pages) -> Result<(), Error> {
    let targets = Targets {
        json: pages.json.clone(),
        markdown: pages.md.clone(),
        html: pages.html.clone(),
        ..Targets::default()
    };
    targets.check()
}

/// Shows a page, and writes it and its figures to the requested files. The terminal's page goes to
/// stdout, or to stderr if another one goes to stdout.
///
/// # Errors
///
/// The first file that could not be written.
pub fn sheet(sheet: &Sheet, figures: &impl Serialize, pages: &Pages) -> Result<(), Error> {
    let mut made: Vec<(Target<'_>, String)> = vec![];
    let mut add = |option, path, text| made.push((Target { option, path }, text));
    if let Some(path) = &pages.json {
        add("--json", path, json::figures(figures));
    }
    if let Some(path) = &pages.md {
        add("--md", path, sheet.markdown());
    }
    if let Some(path) = &pages.html {
        add("--html", path, sheet.html(&build::version()));
    }
    if made.iter().any(|(target, _)| target.is_stdout()) {
        talk::say(sheet.terminal(&style(false)).trim_end());
    } else {
        talk::data(&sheet.terminal(&style(talk::colour())))?;
    }
    made.iter()
        .try_for_each(|(target, text)| target.put(text.as_bytes()))
}

/// Writes the page that every run leaves in the user's data directory, and returns its path. A
/// failure is only a warning, because the page was not requested.
pub fn keep_page(result: &ResultFile, voice: Voice) -> Option<PathBuf> {
    let name = format!("{}.html", result.run.id);
    let kept = own(REPORTS, "--html", &name, &html::render(result));
    kept.inspect_err(|why| voice.warn(&format!("no HTML report: {why}")))
        .ok()
}

/// Writes a run to the user's data directory after the store lost a part of it, so that it can be
/// imported.
pub fn rescue(result: &ResultFile, voice: Voice) {
    let name = format!("{}.json", result.run.id);
    match own("rescued", "--json", &name, &json::render(result)) {
        Ok(path) => voice.warn(&format!(
            "the whole run was saved to {0}: `furlong import {0}` adds it to a store",
            path.display()
        )),
        Err(why) => voice.warn(&format!("this run could not be saved anywhere: {why}")),
    }
}

/// Writes the record of a search for a commit to the user's data directory, and returns its path.
///
/// # Errors
///
/// The reason why it cannot be written.
pub fn keep_record(name: &str, text: &str) -> Result<PathBuf, String> {
    own("bisect", "--json", name, text)
}

/// Writes a private file in the user's data directory, and returns its path.
fn own(dir: &str, option: &str, name: &str, text: &str) -> Result<PathBuf, String> {
    let none = || format!("neither XDG_DATA_HOME nor HOME is set: name a file with {option} FILE");
    let data = data_dir().ok_or_else(none)?;
    let dir = data.join(dir);
    private_dir(&data)
        .and_then(|()| private_dir(&dir))
        .map_err(|error| {
            let (dir, why) = (dir.display(), cause(&error));
            format!("{dir} cannot be created ({why}): name a file with {option} FILE")
        })?;
    let path = dir.join(name);
    write_private(&path, text).map_err(|error| {
        let (path, why) = (path.display(), cause(&error));
        format!("{path} cannot be written ({why}): name a file with {option} FILE")
    })?;
    Ok(path)
}

/// Directory of the runs' pages in the user's data directory.
const REPORTS: &str = "reports";

/// Removes the pages of runs, and returns their number and bytes. A page that cannot be removed is
/// a warning.
pub fn remove_pages(runs: &[&str], voice: Voice) -> (usize, u64) {
    let (mut pages, mut bytes) = (0, 0);
    let Some(dir) = data_dir().map(|data| data.join(REPORTS)) else {
        return (0, 0);
    };
    for run in runs {
        // A name from a foreign database must not lead elsewhere.
        if run.contains(['/', '\0']) {
            continue;
        }
        let path = dir.join(format!("{run}.html"));
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        match fs::remove_file(&path) {
            Ok(()) => {
                pages += 1;
                bytes += found.len();
            }
            Err(error) => voice.warn(&format!(
                "{} cannot be removed: {}",
                path.display(),
                cause(&error)
            )),
        }
    }
    (pages, bytes)
}

/// Returns the style of the terminal: its width, or that of `COLUMNS`, and the use of colour.
pub fn style(colour: bool) -> Style {
    let given = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let asked =
        || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    let width = given.or_else(asked).unwrap_or(Style::default().width);
    Style {
        width,
        colour,
        ..Style::default()
    }
}
