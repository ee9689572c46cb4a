//! The command `furlong`: the lab with the experiments on the five memory systems.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "experiments")]
fn main() -> ExitCode {
    furlong_lab::main(&furlong_lab::Program {
        experiments: furlong_experiments::all(),
        further: furlong_verbs::Verb::run,
    })
}

#[cfg(not(feature = "experiments"))]
fn main() -> ExitCode {
    furlong_lab::main(&furlong_lab::Program::new(vec![]))
}
