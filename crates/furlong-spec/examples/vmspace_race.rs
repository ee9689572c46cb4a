//! Looks without a lock beside a writer that never pauses, for as long as one likes.
//!
//! `cargo run --release -p furlong-spec --example vmspace_race -- [LOOKS] [SEED]`: so many looks
//! judged, 100,000,000 if no number is named, by one reader and by two, with nodes as they are and
//! with tiny ones. It prints what was right, and ends with the first look that was not.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::vmspace::race::{Nodes, Race};

/// Readers, and the tree that they look into.
const RACES: [(u64, Nodes); 4] = [
    (1, Nodes::Usual),
    (2, Nodes::Usual),
    (1, Nodes::Tiny),
    (2, Nodes::Tiny),
];

fn main() -> ExitCode {
    long_run("LOOKS", 100_000_000, |looks, seed| {
        for (readers, nodes) in RACES {
            let race = Race::new(nodes, looks.div_ceil(RACES.len() as u64), readers, seed);
            let on = format!("readers: {readers}, nodes: {nodes:?}");
            let tally = race.run().map_err(|wrong| format!("{on}; {wrong}"))?;
            println!("{on}; {tally}");
        }
        Ok(())
    })
}
