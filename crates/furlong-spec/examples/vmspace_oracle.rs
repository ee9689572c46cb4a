//! The address space against the model for as long as one likes: random operations on every arm in
//! both modes, all that is there compared behind each.
//!
//! `cargo run --release -p furlong-spec --example vmspace_oracle -- [OPERATIONS] [SEED]`: at least
//! so many random operations, 10,000,000 if none are named, with streams from this seed on. It
//! prints what has agreed, how often each operation had each outcome, and ends with the first thing
//! that has not agreed or has never occurred.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::vmspace::{Coverage, TRIALS};

/// Streams in a row on one arm, in each world and of each mix.
const SEEDS: u64 = 10;

/// Of so many operations on an arm every possible outcome must have occurred.
const MANY: u64 = 500_000;

/// Random operations on every arm, `operations` altogether.
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
