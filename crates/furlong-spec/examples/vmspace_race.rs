//! Runs lock-free looks concurrently with a writer that never pauses, for as long as the caller
//! likes.
//!
//! `cargo run --release -p furlong-spec --example vmspace_race -- [LOOKS] [SEED]`: LOOKS judged
//! looks, 100,000,000 by default, by one reader and by two, with nodes of the default size and with
//! tiny ones. Prints the number of correct looks, and stops at the first wrong one.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;
use furlong_spec::vmspace::race::{Nodes, Race};

/// The number of readers, and the node size.
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
