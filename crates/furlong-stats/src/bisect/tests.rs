mod dense;

use super::choice::{Place, entropy, information};
use super::drift::Drift;
use super::spikes::{Block, variances};
use super::{Belief, Cost, Next, PILOT, Search, State};
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
            let values = [value; 2];
            let block = Block {
                place,
                first,
                values,
            };
            drift.add(&block, [1.0; 3]);
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

/// Blocks of one commit at a level of 5, with noise of either sign.
fn quiet() -> Vec<Block> {
    let block = |at: usize| {
        let noise = [0.1, -0.1, 0.2, -0.2][at % 4];
        Block {
            place: 1,
            first: 0.0,
            values: [5.0 + noise, 5.0 - noise],
        }
    };
    (0..8).map(block).collect()
}

#[test]
fn a_spike_gets_its_distance_as_deviation() {
    let mut blocks = quiet();
    assert!(variances(&blocks).iter().all(|of| *of == [1.0; 3]));
    blocks[3].values[1] = 11.0;
    blocks[5].first = -4.0;
    let found = variances(&blocks);
    // The differences of two of a block are 0.2, 0.4 and a spike; the median of all levels is 5.1.
    let deviation = 1.482_602_218_505_602 * 0.3 / 2.0_f64.sqrt();
    let variance = |distance: f64| (distance / deviation / 3.0).powi(2);
    assert!((found[3][2] - variance(5.9)).abs() < 1e-9, "{found:?}");
    assert!((found[5][0] - variance(3.8)).abs() < 1e-9, "{found:?}");
    let others = found.iter().flatten().filter(|one| **one != 1.0);
    assert_eq!(others.count(), 2, "{found:?}");
}

#[test]
fn figures_that_repeat_exactly_have_no_spikes() {
    let mut blocks = quiet();
    for block in &mut blocks {
        block.values = [5.0; 2];
    }
    blocks[2].values[0] = 6.0;
    assert!(variances(&blocks).iter().all(|of| *of == [1.0; 3]));
}

#[test]
fn one_slow_run_is_no_step() {
    let mut search = Search::new(3, 0.01);
    for at in 0..12 {
        let noise = 0.004 * [1.0, -0.5, 0.3, -1.0][at % 4];
        let (commit, level) = if at < 3 { (1, 0.0) } else { (3, 0.05) };
        let spike = if at == 0 { 0.4 } else { 0.0 };
        search.add(commit, -noise, [level + noise + spike, level - noise]);
    }
    let belief = Belief::of(&search);
    let likeliest = belief.candidates.iter().map(|one| one.commit);
    let mut likeliest: Vec<usize> = likeliest.collect();
    likeliest.sort_unstable();
    assert_eq!(likeliest, [2, 3], "{:?}", belief.candidates);
}

/// A belief in one step at any of two commits, the first of which has two blocks.
fn halfway() -> (Search, Belief) {
    let mut search = Search::new(2, 0.01);
    for at in 0..8 {
        let noise = 0.03 * [1.0, -1.0, 0.5, -0.5][at % 4];
        let commit = if at < 2 { 1 } else { 2 };
        let level = if commit == 1 { 0.03 } else { 0.06 };
        search.add(commit, -noise, [level + noise, level - noise]);
    }
    let belief = Belief::of(&search);
    (search, belief)
}

#[test]
fn blocks_are_counted() {
    let (search, _) = halfway();
    assert_eq!(search.blocks(), 8);
    assert_eq!([1, 2, 3].map(|commit| search.blocks_of(commit)), [2, 6, 0]);
}

#[test]
fn a_pilot_comes_first_and_counts_what_is_there() {
    let mut search = Search::new(7, 0.01);
    for left in (1..=PILOT).rev() {
        let wanted = State::Open(Next {
            commit: 7,
            blocks: left,
        });
        assert_eq!(search.state(COST).1, wanted);
        search.add(7, 0.0, [0.3, 0.31]);
    }
    assert_ne!(search.blocks_of(7), 0);
}

#[test]
fn a_build_effect_bounds_what_more_blocks_of_one_build_teach() {
    let (_, mut belief) = halfway();
    let place = Place {
        commit: 1,
        one: 0.5,
        two: 0.0,
    };
    belief.several = 0.0;
    belief.block = 0.04;
    belief.first.mean = 0.03;
    belief.first.deviation = 0.04;
    let distance = |open: f64, variance: f64| information(0.5, open * 0.05 / variance.sqrt());
    let is = |real: f64, wanted: f64| assert!((real - wanted).abs() < 1e-12, "{real} {wanted}");
    belief.build = 0.0;
    is(belief.learned(&place, 0, 4), distance(1.0, 0.0004));
    is(belief.learned(&place, 3, 4), distance(1.0, 0.0004));
    // As large as the error of four blocks: half of the difference is known already.
    belief.build = 0.02;
    is(belief.learned(&place, 0, 4), distance(1.0, 0.0008));
    is(belief.learned(&place, 4, 4), distance(0.5, 0.0006));
    // A second step counts at its own chance.
    belief.several = 0.5;
    belief.second = belief.first;
    let place = Place { two: 0.25, ..place };
    is(belief.learned(&place, 0, 4), 1.5 * distance(1.0, 0.0008));
}

#[test]
fn information_is_that_of_the_integral() {
    let normal = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    for (chance, distance) in [(0.5_f64, 0.3), (0.5, 1.5), (0.1, 1.0), (0.97, 0.7)] {
        // The entropy of the fact, less the mean of what is left after the value.
        let mut wanted = -(chance * chance.ln() + (1.0 - chance) * (1.0 - chance).ln());
        for at in -8000..8000 {
            let value = f64::from(at) / 1000.0;
            let [yes, no] = [
                chance * normal(value - distance),
                (1.0 - chance) * normal(value),
            ];
            let share = yes / (yes + no);
            let entropy = -(share * share.ln() + (1.0 - share) * (1.0 - share).ln());
            wanted -= entropy * (yes + no) / 1000.0;
        }
        let real = information(chance, distance);
        assert!((real - wanted).abs() < 0.02 * wanted, "{real} {wanted}");
    }
    assert!(
        [0.0, 1.0]
            .iter()
            .all(|chance| information(*chance, 2.0) < 1e-6)
    );
    assert!((entropy(0.0) - 2.0_f64.ln()).abs() < 1e-12);
    assert!(entropy(3.0) < entropy(1.0) && entropy(-3.0) == entropy(3.0));
}

#[test]
fn a_build_costs_its_seconds_and_a_built_commit_none() {
    let (search, belief) = halfway();
    let chosen = |block_s, build_s| {
        let cost = Cost { block_s, build_s };
        super::choice::next(&search, &belief, cost).expect("something is learned")
    };
    // Both are built: only blocks cost, and the first one teaches most.
    assert_eq!(chosen(0.001, 1e6), chosen(1.0, 0.0));
    assert_eq!(chosen(1.0, 0.0).commit, 1);
    // A new commit pays by many blocks if its build is dear.
    let mut search = Search::new(3, 0.01);
    (0..PILOT).for_each(|at| search.add(3, 0.0, [0.02, 0.04 + 0.04 * f64::from(at % 2)]));
    let belief = Belief::of(&search);
    let blocks = |build_s| {
        let cost = Cost {
            block_s: 1.0,
            build_s,
        };
        super::choice::next(&search, &belief, cost).map(|next| next.blocks)
    };
    assert!(blocks(100.0) > blocks(0.0), "{:?}", blocks(100.0));
}
