//! Fills a store with runs for tests in a browser: `cargo run --example serve_fixture -- FILE
//! NAME..`. The names are `hostile`, runs with an injection attempt in every name; `many`, three
//! hundred runs with a step; or a file of `furlong.result/1`, which is added as it is.
#![forbid(unsafe_code)]

#[path = "../../furlong-lab/src/serve/tests/crowd.rs"]
mod crowd;
#[path = "../tests/cli/serve/hostile.rs"]
mod hostile;
#[path = "../tests/cli/serve/names.rs"]
mod names;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use furlong_lab::model::result::ResultFile;
use furlong_lab::record::store::{Location, Store};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("name the store, and what to put into it");
        return ExitCode::from(2);
    };
    let location = Location::of(Path::new(&file));
    for name in arguments {
        if let Err(message) = put(&location, &name) {
            eprintln!("{name}: {message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn put(location: &Location, name: &str) -> Result<(), String> {
    match name {
        "hostile" => hostile::fill(location),
        "many" => crowd::fill(location, 300, 6),
        path => {
            let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
            let result: ResultFile =
                serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let mut store = Store::open(location).map_err(|fault| fault.to_string())?;
            store.import(&result).map_err(|fault| fault.to_string())?;
        }
    }
    Ok(())
}
