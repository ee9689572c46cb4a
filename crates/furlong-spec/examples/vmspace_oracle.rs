//! Compares the address space with the model for as long as the caller likes. Runs random
//! operations on every arm in both modes, each followed by a comparison of the whole state.
//!
//! `cargo run --release -p furlong-spec --example vmspace_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS random operations, 10,000,000 by default, in streams from SEED on. Prints what agreed
//! and the count of each outcome of each operation. Stops at the first divergence, or at a required
//! outcome that never occurred.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::vmspace::{Coverage, TRIALS};

/// The number of consecutive streams on one arm, in each world and with each mix.
const SEEDS: u64 = 10;

/// The number of operations on an arm after which every possible outcome must have occurred.
const MANY: u64 = 500_000;

/// Runs `operations` random operations in total, on every arm.
fn streams(operations: u64, first: u64) -> Result<(), String> {
    let share = operations.div_ceil(TRIALS.len() as u64);
    let mut all = Coverage::default();
    for trial in &TRIALS {
        let mut seed = first;
        let mut done = Coverage::default();
        while done.operations() < share {
            done.add(&trial.run(seed..seed + SEEDS)?);
            seed += SEEDS;
        }
        let (name, last) = (trial.name, seed - 1);
        let (operations, refused) = (done.operations(), done.refused());
        println!("{name}: {operations} operations, {refused} refused, seeds {first} to {last}");
        let missing = done.missing(1);
        if operations >= MANY && !missing.is_empty() {
            return Err(format!("{name}: never seen: {}", missing.join(", ")));
        }
        all.add(&done);
    }
    let (operations, refused) = (all.operations(), all.refused());
    println!("all arms: {operations} operations, {refused} refused");
    println!("{all}");
    Ok(())
}

fn main() -> ExitCode {
    long_run("OPERATIONS", 10_000_000, streams)
}
