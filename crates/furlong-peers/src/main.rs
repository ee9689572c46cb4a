//! The command `furlong`, with other people's implementations as further arms.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    furlong_lab::main_with_peers(&furlong_peers::experiments(), furlong_peers::linux::build)
}
