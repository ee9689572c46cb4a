//! Runs lookups concurrently with a writer that never pauses, for as long as the caller likes.
//!
//! `cargo run --release -p furlong-spec --example phys_race -- [LOOKUPS] [SEED]`: LOOKUPS judged
//! lookups, 100,000,000 by default, the first half by one reader and the second by two. Prints the
//! number of correct lookups, and stops at the first wrong one.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::phys::race::Race;

fn main() -> ExitCode {
    long_run("LOOKUPS", 100_000_000, |lookups, seed| {
        for readers in [1, 2] {
            let race = Race {
                lookups: lookups.div_ceil(2),
                lookups_per_table: 500_000,
                readers,
                seed,
            };
            let tally = race.run();
            let tally = tally.map_err(|wrong| format!("with {readers} readers: {wrong}"))?;
            println!("readers: {readers}; {tally}");
        }
        Ok(())
    })
}
