//! Runs look-ups in the B-tree of ranges concurrently with a writer that never pauses, for as long
//! as the caller likes.
//!
//! `cargo run --release -p furlong-spec --example maple_race -- [LOOKUPS] [SEED]`: LOOKUPS
//! look-ups, 100,000,000 by default, half of them by one reader and half by two, on nodes of three
//! slots and of the default size. Prints the number of correct look-ups, and stops at the first
//! wrong one.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::maple::race::Race;

fn run(looks: u64, seed: u64) -> Result<(), String> {
    for readers in [1, 2] {
        let race = Race {
            looks: looks.div_ceil(4),
            readers,
            seed,
        };
        let tiny = race.run::<3, 3>(700)?;
        println!("nodes of 3 slots, readers: {readers}; {tiny}");
        let wide = race.run::<15, 32>(20_000)?;
        println!("nodes of 15 slots, readers: {readers}; {wide}");
    }
    Ok(())
}

fn main() -> ExitCode {
    long_run("LOOKUPS", 100_000_000, run)
}
