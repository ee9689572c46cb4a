//! The list of promises, and the rule that checks one.
#![forbid(unsafe_code)]

use super::{BLOCKS, Bound, LEVEL_A, Promise, all, errors};
use crate::simulation::{Cell, Tally, simulate};

/// A promise in one line.
fn line(promise: &Promise) -> String {
    let cell = promise.cell;
    let claims = promise.claims.iter().map(|claim| match claim.bound {
        Bound::AtMost(most) => format!("{} at most {most}", claim.name),
        Bound::About(wanted) => format!("{} about {wanted}", claim.name),
    });
    let claims: Vec<String> = claims.collect();
    format!(
        "{} | {} | {} blocks, CV {}, ratio {:.6}, margin {}, arms {}{} | {}",
        promise.name,
        cell.disturbance.name(),
        cell.blocks,
        cell.cv_pct,
        cell.ratio,
        cell.margin_pct,
        cell.arms,
        if cell.early { ", early" } else { "" },
        claims.join(", ")
    )
}

#[test]
fn the_levels_of_error_are_promised_under_every_disturbance_and_number_of_blocks() {
    let mut wanted = vec![];
    for disturbance in [
        "none",
        "linear drift 2σ",
        "AR(1) 0.8",
        "step 1.5σ",
        "one-sided spikes",
    ] {
        for blocks in [6, 10, 20] {
            let keep = if disturbance == "one-sided spikes" {
                0.04
            } else {
                0.03
            };
            // A ratio of 1 / 1.01 is better by exactly the margin.
            wanted.extend([
                format!(
                    "(a) no effect, margin 0 | {disturbance} | {blocks} blocks, CV 1, ratio \
                     1.000000, margin 0, arms 1 | rejected at most 0.06"
                ),
                format!(
                    "(b) effect at the margin | {disturbance} | {blocks} blocks, CV 1, ratio \
                     0.990099, margin 1, arms 1 | keep at most 0.03, equivalent at most 0.03"
                ),
                format!(
                    "(b) the same, CV 0.2 % | {disturbance} | {blocks} blocks, CV 0.2, ratio \
                     0.990099, margin 1, arms 1 | keep at most {keep}, equivalent at most 0.03"
                ),
                format!(
                    "(c) no effect, margin 1 % | {disturbance} | {blocks} blocks, CV 1, ratio \
                     1.000000, margin 1, arms 1 | keep or revert at most 0.005"
                ),
            ]);
        }
    }
    let found: Vec<String> = errors(&[6, 10, 20]).iter().map(line).collect();
    assert_eq!(found, wanted);
    let all: Vec<String> = all().iter().map(line).collect();
    assert_eq!(all[..wanted.len()], wanted);
}

/// All promises besides the levels of error.
const OTHERS: &[&str] = &[
    "power for 3 % | none | 6 blocks, CV 1, ratio 0.970874, margin 1, arms 1 | keep about 0.65",
    "power for 3 % | none | 8 blocks, CV 1, ratio 0.970874, margin 1, arms 1 | keep about 0.91",
    "power for 3 % | none | 10 blocks, CV 1, ratio 0.970874, margin 1, arms 1 | keep about 0.99",
    "power for 3 % | none | 20 blocks, CV 1, ratio 0.970874, margin 1, arms 1 | keep about 1",
    "(b) three arms | none | 10 blocks, CV 0.2, ratio 0.990099, margin 1, arms 3 | \
     keep at most 0.03, equivalent at most 0.03",
];

/// Promises for runs that may end early, by disturbance.
const EARLY: &[(&str, &str)] = &[
    (
        "early: (a) no effect, margin 0",
        "CV 1, ratio 1.000000, margin 0, arms 1, early | keep or revert at most 0.05",
    ),
    (
        "early: (b) at the margin, CV 0.2 %",
        "CV 0.2, ratio 0.990099, margin 1, arms 1, early | \
         keep at most 0.03, equivalent at most 0.03",
    ),
    (
        "early: (c) no effect, margin 1 %",
        "CV 1, ratio 1.000000, margin 1, arms 1, early | keep or revert at most 0.005",
    ),
];

#[test]
fn power_several_arms_few_blocks_and_early_ends_have_their_promises() {
    let mut wanted: Vec<String> = OTHERS.iter().map(|line| (*line).to_owned()).collect();
    for blocks in 2..=5 {
        for disturbance in ["none", "linear drift 2σ"] {
            wanted.push(format!(
                "too few blocks | {disturbance} | {blocks} blocks, CV 0.2, ratio 0.666667, margin \
                 1, arms 1 | keep or revert at most 0"
            ));
        }
    }
    for disturbance in ["none", "linear drift 2σ"] {
        let of =
            |(name, rest): &(&str, &str)| format!("{name} | {disturbance} | 30 blocks, {rest}");
        wanted.extend(EARLY.iter().map(of));
    }
    wanted.push(
        "early: power for 3 % | none | 30 blocks, CV 1, ratio 0.970874, margin 1, arms 1, early | \
         keep about 1"
            .to_owned(),
    );
    let found: Vec<String> = all().iter().skip(errors(&BLOCKS).len()).map(line).collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_claim_counts_the_runs_that_its_name_says() {
    let tally = Tally {
        runs: 100,
        keep: 3,
        revert: 5,
        equivalent: 7,
        rejected: 11,
        flips_rejected: 13,
        control_failed: 17,
    };
    let mut seen = std::collections::BTreeSet::new();
    for promise in all() {
        for claim in promise.claims {
            let wanted = match claim.name {
                "rejected" => 11,
                "keep" => 3,
                "equivalent" => 7,
                "keep or revert" => 8,
                other => panic!("{other} is not a share"),
            };
            assert_eq!((claim.count)(&tally), wanted, "{}", claim.name);
            seen.insert(claim.name);
        }
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_bound_ends_where_it_says_and_where_few_runs_may_stray() {
    for (bound, share, error, wanted) in [
        (Bound::AtMost(0.25), 0.25, 0.0, true),
        (Bound::AtMost(0.25), 0.0, 0.0, true),
        (Bound::AtMost(0.25), 0.251, 0.0, false),
        (Bound::AtMost(0.25), 0.375, 0.125, true),
        (Bound::AtMost(0.25), 0.376, 0.125, false),
        (Bound::About(0.5), 0.529, 0.0, true),
        (Bound::About(0.5), 0.471, 0.0, true),
        (Bound::About(0.5), 0.531, 0.0, false),
        (Bound::About(0.5), 0.469, 0.0, false),
        (Bound::About(0.5), 0.654, 0.125, true),
        (Bound::About(0.5), 0.656, 0.125, false),
        // An error of the whole tolerance: the limit itself is within.
        (Bound::About(0.0), 0.03, 0.0, true),
    ] {
        assert_eq!(
            bound.holds(share, error),
            wanted,
            "{bound:?} {share} {error}"
        );
    }
}

#[test]
fn the_error_of_a_share_is_that_of_a_binomial() {
    // Roots of .25 / 100, .09 / 900, and of nothing where nothing can vary.
    assert!((Bound::About(0.5).standard_error(100) - 0.05).abs() < 1e-15);
    assert!((Bound::AtMost(0.1).standard_error(900) - 0.01).abs() < 1e-15);
    assert_eq!(Bound::AtMost(0.0).standard_error(100), 0.0);
    assert_eq!(Bound::About(1.0).standard_error(100), 0.0);
}

#[test]
fn every_promise_has_random_numbers_of_its_own() {
    let promise = Promise::on("any", Cell::quiet(6), LEVEL_A);
    assert_eq!(promise.simulate(3, 60, 5), simulate(&promise.cell, 60, 8));
    assert_eq!(promise.simulate(0, 7, u64::MAX).runs, 7);
    assert_eq!(
        promise.simulate(2, 60, u64::MAX),
        promise.simulate(0, 60, 1)
    );
}
