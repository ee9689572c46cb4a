//! Compares the allocator with the model for as long as the caller likes. Runs random streams of
//! several threads simulated on one, on every arm, and threads that race and free each other's
//! blocks. Runs also zones that are created and freed.
//!
//! `cargo run --release -p furlong-spec --example malloc_oracle -- [OPERATIONS] [SEED]`: at least
//! OPERATIONS operations, 100,000,000 by default, with seeds from SEED on. Half of them run in
//! streams and half in races, and a tenth more in zones. Prints what agreed and the count of each
//! outcome of each operation. Stops at the first divergence, or at a required outcome that never
//! occurred.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong::malloc::{Batched, Checked, Inlined, NoHardening, Outlined, PerCall, Secure};
use furlong_spec::malloc::{Stressed, TRIALS, Zoned, stress, zones};
use furlong_spec::{long_run, try_out};

type Stress = fn(u64, u64, u64) -> Stressed;

const ARMS: [(&str, Stress); 5] = [
    ("default", stress::<Checked, Inlined, Batched>),
    ("plain", stress::<NoHardening, Inlined, Batched>),
    ("secure", stress::<Secure, Inlined, Batched>),
    ("outlined", stress::<Checked, Outlined, Batched>),
    ("per-call", stress::<Checked, Inlined, PerCall>),
];

type Zones = fn(u64, usize, u64) -> Result<Zoned, String>;

const ZONES: [(&str, Zones, usize); 4] = [
    ("default", zones::<Checked>, usize::MAX),
    ("plain", zones::<NoHardening>, usize::MAX),
    ("secure", zones::<Secure>, usize::MAX),
    ("short of memory", zones::<Checked>, 26 << 20),
];

/// The number of operations on one allocator, so that many allocators are tried.
const ROUND: u64 = 1_000_000;

/// Runs racing threads on every arm. They panic at an error.
fn races(operations: u64, first: u64) -> u64 {
    let share = operations.div_ceil(ARMS.len() as u64);
    let mut all = 0;
    for (name, stress) in ARMS {
        let mut sum = Stressed::default();
        let mut seed = first;
        while sum.operations < share {
            sum += stress(4, ROUND.min(share), seed);
            seed += 1;
        }
        println!("{name}, racing: {sum}, seeds {first} to {}", seed - 1);
        all += sum.operations;
    }
    all
}

/// Runs zones with each type of hardening, `operations` operations in total.
fn zoned(operations: u64, first: u64) -> Result<u64, String> {
    let share = operations.div_ceil(ZONES.len() as u64);
    let mut all = 0;
    for (name, zones, limit) in ZONES {
        let done = zones(share, limit, first);
        let done = done.map_err(|what| format!("{name}, zones, seed {first}: {what}"))?;
        println!("{name}, zones: {done}, seed {first}");
        all += done.operations;
    }
    Ok(all)
}

fn main() -> ExitCode {
    long_run("OPERATIONS", 100_000_000, |operations, seed| {
        let done = try_out(&TRIALS, operations.div_ceil(2), seed, 1)?.operations();
        let raced = races(operations.saturating_sub(done), seed);
        let zoned = zoned(operations.div_ceil(10), seed)?;
        let all = done + raced + zoned;
        println!("{all} operations, every block intact and back");
        Ok(())
    })
}
