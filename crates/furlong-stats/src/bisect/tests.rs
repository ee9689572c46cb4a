use super::drift::Drift;
use super::{Belief, Cost, Search, State};
use crate::random::Random;

const COST: Cost = Cost {
    block_s: 1.0,
    build_s: 5.0,
};

/// Searches commits whose levels are known, with noise of 1 %.
fn searched(mut search: Search, level: impl Fn(usize) -> f64) -> (Search, Belief, State) {
    let mut random = Random::new(1);
    loop {
        let (belief, state) = search.state(COST);
        let State::Open(next) = state else {
            return (search, belief, state);
        };
        for _ in 0..next.blocks {
            let [first, values @ ..] = [(); 3].map(|()| 0.01 * random.normal());
            search.add(
                next.commit,
                first,
                values.map(|value| level(next.commit) + value),
            );
        }
        assert!(search.blocks() < 5000, "{state:?}");
    }
}

fn step(at: usize, size: f64) -> impl Fn(usize) -> f64 {
    move |commit| if commit >= at { size } else { 0.0 }
}

#[test]
fn a_step_is_found_at_every_place_of_a_short_range() {
    for commits in [1, 2, 3, 8] {
        for at in 1..=commits {
            let (search, belief, state) = searched(Search::new(commits, 0.01), step(at, -0.2));
            assert_eq!(state, State::Found, "{at} of {commits}");
            assert_eq!(belief.candidates[0].commit, at, "{at} of {commits}");
            let change = belief.change;
            let error = (change.mean + 0.2).abs();
            assert!(error < 3.0 * change.deviation + 0.01, "{change:?}");
            assert!(search.blocks() < 60, "{} blocks", search.blocks());
        }
    }
}

#[test]
fn a_change_within_the_margin_is_none() {
    let (search, belief, state) = searched(Search::new(10, 0.02), step(4, 0.002));
    assert_eq!(state, State::Unchanged);
    assert!(search.measured().eq([10]));
    assert!(belief.last.mean.abs() < 0.02);
}

#[test]
fn a_commit_that_is_left_out_stays_beside_its_neighbour() {
    let mut search = Search::new(9, 0.01);
    search.skip(5);
    let (search, belief, state) = searched(search, step(5, 0.3));
    assert_eq!(state, State::Exhausted);
    assert_eq!(search.blocks_of(5), 0);
    let mut commits: Vec<usize> = belief.candidates.iter().map(|one| one.commit).collect();
    commits.sort_unstable();
    assert_eq!(commits, [5, 6]);
    assert_eq!(
        belief.candidates[0].probability,
        belief.candidates[1].probability
    );
}

#[test]
fn two_steps_are_several_and_the_larger_one_is_named() {
    let levels = |commit: usize| step(3, 0.1)(commit) + step(14, 0.3)(commit);
    let (_, belief, state) = searched(Search::new(20, 0.01), levels);
    assert_eq!(state, State::Found);
    assert_eq!(belief.candidates[0].commit, 14);
    // The bound from which the command tells it.
    assert!(belief.several > 0.5, "{}", belief.several);
}

#[test]
fn figures_without_noise_need_no_more_than_a_pilot_of_each_commit() {
    let mut search = Search::new(100, 0.01);
    let belief = loop {
        let (belief, state) = search.state(COST);
        match state {
            State::Open(next) => {
                for _ in 0..next.blocks {
                    search.add(next.commit, 1.0, [1.0 + step(37, 0.5)(next.commit); 2]);
                }
            }
            _ => break belief,
        }
    };
    assert_eq!(belief.candidates[0].commit, 37);
    assert!(search.blocks() < 60, "{} blocks", search.blocks());
}

#[test]
fn a_fast_drift_counts_differences_and_none_counts_means() {
    let blocks = [(1, 0.0, 5.0), (2, 9.0, 10.0), (1, 3.0, 7.0)];
    let level = |speed, place| {
        let mut drift = Drift::new(speed);
        for (place, first, value) in blocks {
            drift.add(place, first, [value; 2]);
        }
        drift.level(place)
    };
    // Differences of the blocks: 5 and 4; 1.
    assert!((level(1e9, 1) - 4.5).abs() < 1e-6);
    assert!((level(1e9, 2) - 1.0).abs() < 1e-6);
    // Means of samples, beside the mean 4 of the first commit.
    assert!((level(0.0, 1) - (6.0 - 4.0)).abs() < 1e-9);
    assert!((level(0.0, 2) - (10.0 - 4.0)).abs() < 1e-9);
}
