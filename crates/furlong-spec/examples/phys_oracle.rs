//! Compares the table of segments with the model for as long as the caller likes. Runs random
//! operations on every arm, and every sequence of changes in spaces of a few frames.
//!
//! `cargo run --release -p furlong-spec --example phys_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS random operations, 10,000,000 by default, in streams from SEED on. Prints what agreed
//! and the count of each outcome of each operation. Stops at the first divergence, or at a required
//! outcome that never occurred.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong::phys::{Branchless, Flat, Tree};
use furlong_spec::phys::{Small, TRIALS, TableSubject};
use furlong_spec::{long_run, try_out};

/// The number of consecutive streams on one arm.
const SEEDS: u64 = 30;

/// Runs every sequence of changes on three frames, around the border of a block and of a section,
/// and on four frames.
fn every_sequence() -> Result<(), String> {
    for (frames, length) in [(62..65, 5), (4094..4097, 4), (61..65, 4), (63..65, 6)] {
        let small = Small::new(frames.clone());
        let direct = small.sequences(TableSubject::direct, length)?;
        let changes = small.changes();
        println!("direct, frames {frames:?}: {direct} sequences of {changes} changes, to {length}");
    }
    let small = Small::new(62..65);
    let sorted = small.sequences(TableSubject::<Branchless>::new, 3)?;
    let tree = small.sequences(TableSubject::<Tree>::new, 3)?;
    let flat = small.sequences(TableSubject::<Flat>::new, 3)?;
    println!("array-branchless {sorted}, rbtree {tree}, flat {flat} sequences, to 3");
    Ok(())
}

fn main() -> ExitCode {
    long_run("OPERATIONS", 10_000_000, |operations, seed| {
        try_out(&TRIALS, operations, seed, SEEDS)?;
        every_sequence()
    })
}
