//! The list of promises, and the rule that checks one.

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

/// Every promise, in the form of [`line`].
const PROMISES: &str = include_str!("promises.txt");

#[test]
fn the_promises_are_those_of_the_list() {
    let found: Vec<String> = all().iter().map(line).collect();
    let wanted: Vec<&str> = PROMISES.lines().collect();
    assert_eq!(found, wanted);
    let errors: Vec<String> = errors(&BLOCKS).iter().map(line).collect();
    assert_eq!(errors, wanted[..90]);
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
