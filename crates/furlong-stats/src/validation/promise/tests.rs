//! The list of promises, and the rule that checks one.
#![forbid(unsafe_code)]

use super::{BLOCKS, Bound, LEVEL_A, Promise, all, errors};
use crate::simulation::{Cell, Tally, simulate};

/// A promise in one line.
fn line(promise: &Promise) -> String {
    let cell = promise.cell;
    let claims = promise.claims.iter().map(|claim| match claim.bound {
        Bound::AtMost(most) => format!("{} at most {most}", claim.name),
        Bound::AtLeast(least) => format!("{} at least {least}", claim.name),
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
        cell.looks
            .map_or(String::new(), |looks| format!(", {looks} looks")),
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
                    "(b) effect at the margin | {disturbance} | {blocks} blocks, CV 0.2, ratio \
                     0.990099, margin 1, arms 1 | keep at most {keep}, equivalent at most 0.03"
                ),
                format!(
                    "(b) effect at the margin | {disturbance} | {blocks} blocks, CV 1, ratio \
                     0.990099, margin 1, arms 1 | keep at most {keep}, equivalent at most 0.03"
                ),
                format!(
                    "(b) effect at the margin | {disturbance} | {blocks} blocks, CV 3, ratio \
                     0.990099, margin 1, arms 1 | keep at most {keep}, equivalent at most 0.03"
                ),
                format!(
                    "(c) no effect, margin 1 % | {disturbance} | {blocks} blocks, CV 1, ratio \
                     1.000000, margin 1, arms 1 | keep or revert at most 0.005"
                ),
                format!(
                    "(c) no effect, margin 1 % | {disturbance} | {blocks} blocks, CV 3, ratio \
                     1.000000, margin 1, arms 1 | keep or revert at most 0.02"
                ),
            ]);
        }
    }
    let found: Vec<String> = errors(&[6, 10, 20]).iter().map(line).collect();
    assert_eq!(found, wanted);
    let all: Vec<String> = all().iter().map(line).collect();
    assert_eq!(all[..wanted.len()], wanted);
}

/// Power by true effect: its ratio, the noise, and the shares in 6, 10 and 20 blocks.
const POWER: [(&str, u32, [&str; 3]); 4] = [
    ("0.970874", 1, ["0.87", "0.98", "0.99"]),
    ("0.970874", 2, ["0.35", "0.62", "0.92"]),
    ("0.909091", 5, ["0.77", "0.96", "0.99"]),
    ("0.833333", 10, ["0.78", "0.97", "0.99"]),
];

/// Promises for runs that may end early, by disturbance.
const EARLY: [(&str, &str, &str); 11] = [
    (
        "(a) no effect, margin 0",
        "30 blocks, CV 1, ratio 1.000000, margin 0",
        "keep or revert at most 0.06",
    ),
    (
        "(b) effect at the margin",
        "30 blocks, CV 0.2, ratio 0.990099, margin 1",
        "keep at most 0.03, equivalent at most 0.03",
    ),
    (
        "(c) no effect, margin 1 %",
        "30 blocks, CV 1, ratio 1.000000, margin 1",
        "keep or revert at most 0.005",
    ),
    (
        "(c) no effect, margin 1 %",
        "20 blocks, CV 3, ratio 1.000000, margin 1",
        "keep or revert at most 0.01",
    ),
    (
        "(c) no effect, margin 1 %",
        "20 blocks, CV 5, ratio 1.000000, margin 1",
        "keep or revert at most 0.015",
    ),
    (
        "(c) no effect, margin 1 %",
        "20 blocks, CV 10, ratio 1.000000, margin 1",
        "keep or revert at most 0.025",
    ),
    (
        "(c) no effect, margin 1 %",
        "30 blocks, CV 3, ratio 1.000000, margin 1",
        "keep or revert at most 0.01",
    ),
    (
        "(c) no effect, margin 1 %",
        "30 blocks, CV 5, ratio 1.000000, margin 1",
        "keep or revert at most 0.015",
    ),
    (
        "(c) no effect, margin 1 %",
        "30 blocks, CV 10, ratio 1.000000, margin 1",
        "keep or revert at most 0.025",
    ),
    (
        "power",
        "30 blocks, CV 1, ratio 0.970874, margin 1",
        "keep about 0.99",
    ),
    (
        "power",
        "20 blocks, CV 3, ratio 0.952381, margin 1",
        "keep at least 0.9",
    ),
];

#[test]
fn power_several_arms_few_blocks_and_early_ends_have_their_promises() {
    let mut wanted = vec![];
    for (ratio, cv, shares) in POWER {
        for (blocks, share) in [6, 10, 20].into_iter().zip(shares) {
            wanted.push(format!(
                "power | none | {blocks} blocks, CV {cv}, ratio {ratio}, margin 1, arms 1 | keep \
                 about {share}"
            ));
        }
    }
    wanted.push(
        "(b) three arms | none | 10 blocks, CV 0.2, ratio 0.990099, margin 1, arms 3 | keep at \
         most 0.03, equivalent at most 0.03"
            .to_owned(),
    );
    for blocks in 2..=5 {
        for disturbance in ["none", "linear drift 2σ"] {
            wanted.push(format!(
                "too few blocks | {disturbance} | {blocks} blocks, CV 0.2, ratio 0.666667, margin \
                 1, arms 1 | keep or revert at most 0"
            ));
        }
    }
    for disturbance in ["none", "linear drift 2σ"] {
        wanted.extend(EARLY.iter().map(|(name, cell, claims)| {
            let looks = if cell.starts_with("20") { 10 } else { 5 };
            format!("early: {name} | {disturbance} | {cell}, arms 1, {looks} looks | {claims}")
        }));
    }
    let found: Vec<String> = all().iter().skip(errors(&BLOCKS).len()).map(line).collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_claim_counts_the_runs_that_its_name_says() {
    let tally = Tally {
        runs: 100,
        keep: 3,
        keep_beyond_floor: 2,
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
        (Bound::AtLeast(0.75), 0.75, 0.0, true),
        (Bound::AtLeast(0.75), 1.0, 0.0, true),
        (Bound::AtLeast(0.75), 0.749, 0.0, false),
        (Bound::AtLeast(0.75), 0.625, 0.125, true),
        (Bound::AtLeast(0.75), 0.624, 0.125, false),
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
    assert!((Bound::AtLeast(0.9).standard_error(900) - 0.01).abs() < 1e-15);
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
