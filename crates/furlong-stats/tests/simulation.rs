//! The verdict's guarantees on synthetic runs with a known truth.
//!
//! This is the short form; the long one is `cargo run --release -p furlong-lab --example
//! verdict_simulation`.
#![forbid(unsafe_code)]

use furlong_stats::promise::{self, Bound, Promise};
use furlong_stats::simulation::{Cell, Disturbance, Schedule, Tally, simulate};

const RUNS: u32 = 300;
const SEED: u64 = 1;

/// Tolerance in standard errors at the bound: shares of few runs vary.
const STRAY: f64 = 3.0;

/// Two tests share the promises, so that they run beside each other.
fn hold(chosen: impl Fn(&Promise) -> bool) {
    let mut broken = vec![];
    let promises = promise::all();
    let chosen = promises.iter().enumerate().filter(|(_, one)| chosen(one));
    for (place, promise) in chosen {
        let tally = promise.simulate(place, RUNS, SEED);
        for claim in promise.claims {
            let share = tally.share((claim.count)(&tally));
            if !claim
                .bound
                .holds(share, STRAY * claim.bound.standard_error(RUNS))
            {
                broken.push(format!("{promise:?}: {} {share}", claim.name));
            }
        }
    }
    assert!(broken.is_empty(), "seed {SEED}: {broken:#?}");
}

#[test]
fn promises_for_twenty_blocks_hold_within_the_error_of_few_runs() {
    hold(|promise| promise.cell.blocks == 20);
}

#[test]
fn promises_for_any_other_number_of_blocks_hold_within_the_error_of_few_runs() {
    hold(|promise| promise.cell.blocks != 20);
}

#[test]
fn running_one_arm_after_the_other_breaks_the_promise_that_blocks_keep() {
    let bound = Bound::AtMost(0.06);
    for disturbance in [Disturbance::Linear, Disturbance::Ar1, Disturbance::Step] {
        let blocks = Cell {
            disturbance,
            margin_pct: 0.0,
            ..Cell::quiet(10)
        };
        let grouped = Cell {
            schedule: Schedule::Grouped,
            ..blocks
        };
        let error = STRAY * bound.standard_error(RUNS);
        let found = [blocks, grouped].map(|cell| {
            let tally = simulate(&cell, RUNS, SEED);
            bound.holds(tally.share(tally.rejected), error)
        });
        assert_eq!(found, [true, false], "{disturbance:?}");
    }
}

#[test]
fn a_simulation_is_named_by_its_seed() {
    let cell = Cell {
        disturbance: Disturbance::Spikes,
        ..Cell::quiet(6)
    };
    assert_eq!(simulate(&cell, 50, 9), simulate(&cell, 50, 9));
    // Pinned, so that the figures of a record can be found again.
    let pinned = Tally {
        runs: 500,
        keep: 0,
        keep_beyond_floor: 0,
        revert: 0,
        equivalent: 17,
        rejected: 15,
        flips_rejected: 15,
        control_failed: 4,
    };
    assert_eq!(simulate(&cell, 500, 9), pinned);
    assert_ne!(simulate(&cell, 50, 9), simulate(&cell, 50, 10));
}
