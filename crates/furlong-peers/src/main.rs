//! The command `furlong`, with other people's implementations as further arms.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use furlong_peers::malloc::{libraries, own_libraries};
use furlong_verbs::Verb;

fn main() -> ExitCode {
    furlong_lab::main(&furlong_lab::Program {
        experiments: furlong_peers::experiments(),
        further: |verb| match verb {
            Verb::Malloc(args) => {
                let libraries: Vec<_> = libraries().chain(own_libraries()).collect();
                furlong_verbs::cmd::malloc::run(&args, &libraries)
            }
            Verb::Peers(args) => furlong_peers::linux::build(&args),
            other => other.run(),
        },
    })
}
