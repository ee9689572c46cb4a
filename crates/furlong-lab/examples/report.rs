//! Writes invented results in every format, from usual to unusual: all of them, or those named.
//! `cargo run --example report -- FOLDER [NAME]..`
#![forbid(unsafe_code)]

#[path = "../tests/report/fixture.rs"]
mod fixture;
#[path = "../tests/report/odd.rs"]
mod odd;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use furlong_lab::model::result::ResultFile;
use furlong_lab::report::Targets;
use furlong_lab::report::terminal::{self, Style};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        eprintln!("name the folder to write to");
        return ExitCode::from(2);
    };
    let wanted: Vec<String> = arguments.collect();
    for name in &wanted {
        // Panics with the list of names for an unknown one, before anything is written.
        odd::named(name);
    }
    for (name, file) in odd::all() {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        if let Err(message) = write(&folder, name, &file) {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn write(folder: &Path, name: &str, file: &ResultFile) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = |ending: &str| Some(folder.join(format!("{name}.{ending}")));
    let targets = Targets {
        json: path("json"),
        csv: path("csv"),
        markdown: path("md"),
        html: path("html"),
        junit: path("xml"),
        ..Targets::default()
    };
    targets.check().map_err(|e| e.to_string())?;
    targets.write(file).map_err(|e| e.to_string())?;
    let text = folder.join(format!("{name}.txt"));
    fs::write(&text, terminal::render(file, &Style::default()))
        .map_err(|e| format!("{}: {e}", text.display()))
}
