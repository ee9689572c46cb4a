//! Lookups beside a writer that never pauses, for as long as one likes.
//!
//! `cargo run --release -p furlong-spec --example phys_race -- [LOOKUPS] [SEED]`: so many answers
//! judged, 100,000,000 if no number is named, the first half by one reader and the second by two.
//! It prints what was right, and ends with the first answer that was not.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::phys::race::Race;

fn main() -> ExitCode {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|argument| argument.parse::<u64>());
    let mut number = |default| arguments.next().unwrap_or(Ok(default));
    let (Ok(lookups), Ok(seed)) = (number(100_000_000), number(0)) else {
        eprintln!("phys_race [LOOKUPS] [SEED]: two numbers");
        return ExitCode::from(2);
    };
    for readers in [1, 2] {
        let race = Race {
            lookups: lookups.div_ceil(2),
            lookups_per_table: 500_000,
            readers,
            seed,
        };
        match race.run() {
            Ok(tally) => println!("readers: {readers}; {tally}"),
            Err(wrong) => {
                println!("WRONG with {readers} readers: {wrong}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
