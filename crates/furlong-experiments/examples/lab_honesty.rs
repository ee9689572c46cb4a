//! Prints the table of each tool from a record of `lab-honesty`, as its README shows it:
//! `cargo run --release -p furlong-experiments --example lab_honesty -- RECORD`.
//!
//! Exit code 1 if a promise about furlong does not hold, 2 on bad usage.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;
use std::{env, fs};

use furlong_experiments::lab_honesty::table::Table;

fn main() -> ExitCode {
    let Some(path) = env::args_os().nth(1) else {
        eprintln!("name the record, a file that `furlong run lab-honesty --json` has written");
        return ExitCode::from(2);
    };
    let read = fs::read_to_string(&path).map_err(|error| error.to_string());
    let parsed = read.and_then(|text| serde_json::from_str(&text).map_err(|why| why.to_string()));
    match parsed.and_then(|result| Table::of(&result)) {
        Ok(table) => told(&table),
        Err(why) => {
            eprintln!("{}: {why}", path.display());
            ExitCode::from(2)
        }
    }
}

fn told(table: &Table) -> ExitCode {
    let mut page = format!("{}\n", table.markdown);
    for promise in &table.promises {
        let word = if promise.holds { "holds" } else { "FAILS" };
        page.push_str(&format!("- {word}: {}\n", promise.text));
    }
    if let Err(error) = io::stdout().write_all(page.as_bytes()) {
        eprintln!("cannot write the table: {error}");
        return ExitCode::FAILURE;
    }
    match table.promises.iter().all(|promise| promise.holds) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
