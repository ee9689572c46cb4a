//! The command `furlong`, with other people's implementations as further arms.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    furlong_lab::main(&furlong_peers::experiments())
}
