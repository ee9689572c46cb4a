//! Writes invented results in every form, from usual to odd: `cargo run --example report -- FOLDER`.
#![forbid(unsafe_code)]

#[path = "../tests/report/figures.rs"]
mod figures;
#[path = "../tests/report/fixture.rs"]
mod fixture;
#[path = "../tests/report/odd.rs"]
mod odd;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use furlong_lab::report::Targets;
use furlong_lab::report::terminal::{self, Style};

fn main() -> ExitCode {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("name the folder to write to");
        return ExitCode::from(2);
    };
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn write(folder: &std::path::Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, file) in odd::all() {
        let path = |ending: &str| Some(folder.join(format!("{name}.{ending}")));
        let targets = Targets {
            json: path("json"),
            csv: path("csv"),
            markdown: path("md"),
            html: path("html"),
        };
        targets.check().map_err(|e| e.to_string())?;
        targets.write(&file).map_err(|errors| {
            errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        let text = folder.join(format!("{name}.txt"));
        fs::write(&text, terminal::render(&file, &Style::default()))
            .map_err(|e| format!("{}: {e}", text.display()))?;
    }
    Ok(())
}
