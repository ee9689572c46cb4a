//! The command `furlong`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    furlong_lab::main(&furlong_lab::experiments::all())
}
