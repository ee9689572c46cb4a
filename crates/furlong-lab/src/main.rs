//! The command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use furlong_lab::cmd::stat;

/// Shows whether a change is a win.
#[derive(Parser)]
#[command(name = "furlong")]
enum Command {
    /// Compare files of numbers.
    Stat(stat::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Stat(args) => stat::run(&args),
    }
}
