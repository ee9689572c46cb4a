//! Looks without a lock beside a writer that never pauses, for as long as one likes.
//!
//! `cargo run --release -p furlong-spec --example vmspace_race -- [LOOKS] [SEED]`: so many looks
//! judged, 100,000,000 if no number is named, by one reader and by two, with nodes as they are and
//! with tiny ones. It prints what was right, and ends with the first look that was not.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::vmspace::race::{Nodes, Race};

/// Readers, and the tree that they look into.
const RACES: [(u64, Nodes); 4] = [
    (1, Nodes::Usual),
    (2, Nodes::Usual),
    (1, Nodes::Tiny),
    (2, Nodes::Tiny),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|argument| argument.parse::<u64>());
    let mut number = |default| arguments.next().unwrap_or(Ok(default));
    let (Ok(looks), Ok(seed)) = (number(100_000_000), number(0)) else {
        eprintln!("vmspace_race [LOOKS] [SEED]: two numbers");
        return ExitCode::from(2);
    };
    for (readers, nodes) in RACES {
        let race = Race::new(nodes, looks.div_ceil(RACES.len() as u64), readers, seed);
        match race.run() {
            Ok(tally) => println!("readers: {readers}, nodes: {nodes:?}; {tally}"),
            Err(wrong) => {
                println!("WRONG with {readers} readers, nodes {nodes:?}: {wrong}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
