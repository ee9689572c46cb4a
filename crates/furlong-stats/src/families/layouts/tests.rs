//! Verdicts over several code layouts.

use super::{LAYOUTS, Layouts, layout_of};
use crate::families::judge_time;
use crate::random::Random;
use crate::stopping::{STOPPING, Stopping};
use crate::value::{Comparison, Verdict, WorkloadResult};

/// An experiment whose layouts are drawn anew for each side: pairing does not help.
#[derive(Clone, Copy)]
struct Plan {
    layouts: u32,
    each: u32,
    /// In per cent, as the two spreads.
    effect: f64,
    of_layout: f64,
    noise: f64,
    /// The result names its layouts.
    told: bool,
}

const INERT: Plan = Plan {
    layouts: 8,
    each: 3,
    effect: 0.0,
    of_layout: 3.0,
    noise: 0.5,
    told: true,
};

fn judged(plan: Plan, margin: f64, random: &mut Random) -> Comparison {
    let mut w = measured(plan, random);
    judge_time(&mut w, margin);
    w.comparisons.remove(0)
}

fn measured(plan: Plan, random: &mut Random) -> WorkloadResult {
    let mut draw = || 0.01 * plan.of_layout * random.normal();
    let drawn: Vec<[f64; 2]> = (0..plan.layouts).map(|_| [draw(), draw()]).collect();
    let mut values: [Vec<Option<f64>>; 3] = Default::default();
    for block in 1..=plan.layouts * plan.each {
        let [old, new] = drawn[layout_of(block, plan.layouts) as usize];
        for (samples, level) in values.iter_mut().zip([old, old, new + 0.01 * plan.effect]) {
            let noise = 0.01 * plan.noise * random.normal();
            samples.push(Some((level + noise).exp()));
        }
    }
    let [a, again, b] = values;
    let mut w = WorkloadResult::sampled("w", "time", [("old", a), ("new", b)], again);
    if plan.told {
        let layouts = serde_json::json!(plan.layouts);
        w.params = [(LAYOUTS.to_owned(), layouts)].into();
    }
    w
}

/// The share of 2,000 runs that satisfy a condition.
fn share(plan: Plan, margin: f64, seed: u64, holds: impl Fn(&Comparison) -> bool) -> f64 {
    let mut random = Random::new(seed);
    let runs = 2000;
    let held = (0..runs).filter(|_| holds(&judged(plan, margin, &mut random)));
    held.count() as f64 / f64::from(runs)
}

fn is_change(found: &Comparison) -> bool {
    matches!(found.verdict, Verdict::Keep | Verdict::Revert)
}

#[test]
fn an_inert_change_is_called_different_as_seldom_as_promised() {
    // 5 %; three standard deviations of 2,000 draws are 1.5 %.
    let with = share(INERT, 0.0, 1, is_change);
    assert!((0.035..0.065).contains(&with), "{with}");
    let alone = Plan {
        layouts: 1,
        each: 24,
        told: false,
        ..INERT
    };
    let without = share(alone, 0.0, 1, is_change);
    assert!(without > 0.8, "{without}");
}

#[test]
fn the_layouts_that_a_run_names_find_the_effect_as_often_as_promised() {
    // t(.975, 11) + t(.8, 11) = 3.08 errors of the mean of 12 differences with a spread of 1.42 %
    // from the layouts and 0.35 % from two blocks each: 1.30 % beyond the margin.
    let plan = Plan {
        layouts: 12,
        each: 2,
        effect: 2.3,
        of_layout: 1.0,
        noise: 0.4,
        told: true,
    };
    let found = share(plan, 1.0, 2, |found| found.verdict == Verdict::Revert);
    assert!((0.75..0.87).contains(&found), "{found}");
}

#[test]
fn a_run_that_may_end_early_errs_no_more_often_in_layouts() {
    // The looks are planned for blocks. Over layouts they repeat each other more, not less.
    let mut random = Random::new(8);
    let rule = Stopping::Early {
        planned: 48,
        looks: 10,
    };
    let plan = Plan { each: 6, ..INERT };
    let runs = 1000;
    let alarms = (0..runs).filter(|_| {
        let all = measured(plan, &mut random);
        let mut looks = (1..=48).filter(|blocks| rule.looks_at(*blocks));
        looks.any(|blocks| {
            let mut w = all.clone();
            w.params
                .insert(STOPPING.to_owned(), serde_json::json!(rule));
            let until = blocks as usize;
            w.blocks.truncate(until);
            let control = w.control.values_mut().map(|control| &mut control.samples);
            let arms = w.arms.iter_mut().flat_map(|arm| arm.samples.values_mut());
            control
                .chain(arms)
                .for_each(|samples| samples.truncate(until));
            judge_time(&mut w, 0.0);
            is_change(&w.comparisons[0])
        })
    });
    // 1 % is promised to runs with looks.
    let share = alarms.count() as f64 / f64::from(runs);
    assert!(share < 0.02, "{share}");
}

#[test]
fn a_run_with_too_few_layouts_says_so() {
    let few = Plan {
        layouts: 3,
        each: 8,
        ..INERT
    };
    let found = judged(few, 1.0, &mut Random::new(3));
    assert_eq!((found.n, found.verdict), (24, Verdict::Inconclusive));
    let reason = found.reason.unwrap();
    assert!(reason.contains("6 layouts"), "{reason}");
}

#[test]
fn the_number_needed_is_of_layouts_and_its_blocks_are_as_many_for_each() {
    let found = judged(INERT, 1.0, &mut Random::new(4));
    let needed = found.by_layout.unwrap().needed.unwrap();
    assert!(needed > 8, "{needed}");
    assert_eq!(found.n_needed, Some(3 * needed));
    // It follows from the spread alone, so an effect near the margin asks for no more.
    let near = Plan {
        effect: 1.0,
        ..INERT
    };
    let found = judged(near, 1.0, &mut Random::new(4));
    let with_effect = found.by_layout.unwrap().needed.unwrap();
    assert!(with_effect.abs_diff(needed) <= 1, "{with_effect} {needed}");
}

#[test]
fn the_share_of_the_layouts_is_found_with_an_interval_that_covers_it() {
    // The variance of a difference: two layouts, and noise in the arm and in the mean of two.
    let (layouts, noise) = (2.0 * 0.5_f64.powi(2), 1.5 * 0.5_f64.powi(2));
    let truth = 100.0 * layouts / (layouts + noise);
    let plan = Plan {
        of_layout: 0.5,
        ..INERT
    };
    let covered = share(plan, 1.0, 5, |found| {
        let [low, high] = found.by_layout.unwrap().share95_pct.unwrap();
        (low..high).contains(&truth)
    });
    assert!((0.935..0.965).contains(&covered), "{covered}");
}

#[test]
fn layouts_that_do_not_matter_are_told_from_noise_as_seldom_as_promised() {
    let of_layout = 0.0;
    let told = share(Plan { of_layout, ..INERT }, 1.0, 6, |found| {
        found.by_layout.unwrap().p.unwrap() < 0.05
    });
    assert!((0.035..0.065).contains(&told), "{told}");
}

#[test]
fn a_share_is_the_one_computed_by_hand() {
    // Means 2 and 6, squares within 2 and 2: F = 16 / 2, two blocks each, (8 - 1) / (8 - 1 + 2).
    let layouts = Layouts {
        of_block: vec![0, 1, 0, 1],
    };
    let (places, effects) = ([0, 1, 2, 3], [1.0, 5.0, 3.0, 7.0]);
    assert_eq!(layouts.means(&places, &effects), [2.0, 6.0]);
    let found = layouts.explain(&places, &effects);
    assert!((found.share_pct.unwrap() - 100.0 * 7.0 / 9.0).abs() < 1e-9);
    assert_eq!(found.layouts, 2);
}

#[test]
fn one_block_a_layout_gives_a_verdict_but_no_share() {
    let plan = Plan {
        each: 1,
        effect: 30.0,
        ..INERT
    };
    let found = judged(plan, 1.0, &mut Random::new(7));
    assert_eq!(found.verdict, Verdict::Revert);
    let by_layout = found.by_layout.unwrap();
    assert_eq!((by_layout.layouts, by_layout.share_pct), (8, None));
}

#[test]
fn layouts_without_blocks_cost_nothing() {
    let mut w = measured(INERT, &mut Random::new(9));
    w.params.insert(LAYOUTS.to_owned(), u32::MAX.into());
    judge_time(&mut w, 1.0);
    // Each block has a layout of its own.
    let layouts = w.comparisons[0].by_layout.unwrap().layouts;
    assert_eq!(layouts, w.blocks.len());
}

#[test]
fn samples_without_blocks_have_no_layout_and_no_comparison() {
    let mut w = measured(INERT, &mut Random::new(9));
    w.blocks.clear();
    judge_time(&mut w, 1.0);
    assert_eq!(w.comparisons, vec![]);
}
