//! Compares the address space with the model for as long as the caller likes. Runs random
//! operations on every arm in both modes, each followed by a comparison of the whole state.
//!
//! `cargo run --release -p furlong-spec --example vmspace_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS random operations, 10,000,000 by default, in streams from SEED on. Prints what agreed
//! and the count of each outcome of each operation. Stops at the first divergence, or at a required
//! outcome that never occurred.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use furlong_spec::vmspace::TRIALS;
use furlong_spec::{long_run, try_out};

/// The number of consecutive streams on one arm, in each world and with each mix.
const SEEDS: u64 = 10;

fn main() -> ExitCode {
    long_run("OPERATIONS", 10_000_000, |operations, seed| {
        try_out(&TRIALS, operations, seed, SEEDS).map(drop)
    })
}
