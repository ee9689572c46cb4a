//! Stresses a pool of bounce buffers with several threads, for as long as the caller likes.
//!
//! `cargo run --release -p furlong-spec --example bounce_stress -- [MAPS] [SEED]`: at least MAPS
//! maps, 50,000,000 by default, by four threads over all four combinations of arms. Stops at the
//! first byte changed by another thread, or the first slot lost.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong::bounce::{AreaFirst, LockFree, Locked, PoolFirst};
use furlong_spec::bounce::{Stressed, stress};
use furlong_spec::long_run;

type Stress = fn(usize, u64, u64) -> Stressed;

const ARMS: [(&str, Stress); 4] = [
    ("pool-first, locked", stress::<PoolFirst, Locked>),
    ("pool-first, lockfree", stress::<PoolFirst, LockFree>),
    ("area-first, locked", stress::<AreaFirst, Locked>),
    ("area-first, lockfree", stress::<AreaFirst, LockFree>),
];

/// The number of maps in one pool, so that many pools are tried.
const ROUND: u64 = 500_000;

fn main() -> ExitCode {
    long_run("MAPS", 50_000_000, run)
}

fn run(maps: u64, seed: u64) -> Result<(), String> {
    let share = maps.div_ceil(ARMS.len() as u64);
    let mut all = 0;
    for (name, stress) in ARMS {
        let mut sum = Stressed::default();
        let mut round = seed;
        while sum.mapped < share {
            let stressed = stress(4, ROUND.min(share), round);
            sum.mapped += stressed.mapped;
            sum.refused += stressed.refused;
            sum.blocks = sum.blocks.max(stressed.blocks);
            round += 1;
        }
        println!("{name}: {sum} at most, seeds {seed} to {}", round - 1);
        all += sum.mapped;
    }
    println!("all arms: {all} maps, no byte of another's, every slot back");
    Ok(())
}
