//! Verdicts over several nodes.

use std::collections::BTreeMap;

use super::{NODES, Nodes, claim, differ};
use crate::blocks::Blocks;
use crate::comparison::{Evidence, Question};
use crate::families::judge_time;
use crate::random::Random;
use crate::stopping::Stopping;
use crate::value::{Better, Comparison, Verdict, WorkloadResult};
use crate::verdict::{Check, Rule};

/// A node's level, the effect on it, and its blocks.
struct Site {
    level: f64,
    effect: f64,
    blocks: u32,
}

/// A workload with blocks on the sites in turn, and this noise in per cent in each value.
fn workload(sites: &[Site], noise: f64, random: &mut Random) -> WorkloadResult {
    let mut values: [Vec<Option<f64>>; 3] = Default::default();
    let mut nodes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut number = 0;
    for turn in 0..sites.iter().map(|site| site.blocks).max().unwrap_or(0) {
        for (place, site) in sites.iter().enumerate() {
            if turn < site.blocks {
                number += 1;
                nodes.entry(format!("n{place}")).or_default().push(number);
                for (arm, samples) in values.iter_mut().enumerate() {
                    let effect = if arm == 2 { site.effect } else { 0.0 };
                    let noise = 0.01 * noise * random.normal();
                    samples.push(Some(site.level * (effect + noise).exp()));
                }
            }
        }
    }
    let [a, again, b] = values;
    let mut w = WorkloadResult::sampled("w", "time", [("old", a), ("new", b)], again);
    let nodes = serde_json::json!(nodes);
    w.params = [(NODES.to_owned(), nodes)].into();
    w
}

fn judged(sites: &[Site], noise: f64, random: &mut Random, margin: f64) -> Comparison {
    let mut workload = workload(sites, noise, random);
    judge_time(&mut workload, margin);
    // Speeds that differ between nodes are neither drift nor outliers.
    let about_series = |text: &String| text.contains("drifted") || text.contains("far from");
    assert!(
        !workload.warnings.iter().any(about_series),
        "{:?}",
        workload.warnings
    );
    workload.comparisons.remove(0)
}

fn site(level: f64, effect: f64, blocks: u32) -> Site {
    Site {
        level,
        effect,
        blocks,
    }
}

#[test]
fn a_node_claims_only_what_its_whole_interval_says() {
    let rule = Rule {
        better: Better::Lower,
        margin: 0.01,
        control: Check::Passed,
    };
    assert_eq!(claim(&rule, [0.4, 0.5]), Some(Verdict::Revert));
    assert_eq!(claim(&rule, [-0.5, -0.4]), Some(Verdict::Keep));
    assert_eq!(claim(&rule, [-0.001, 0.001]), None);
    assert_eq!(claim(&rule, [-0.5, 0.5]), None);
}

#[test]
fn one_value_more_than_nodes_is_enough_to_tell_them_apart() {
    let found = differ(&[("a", vec![1.0, 2.0]), ("b", vec![5.0])]).unwrap();
    assert_eq!((found.df1, found.df2), (1.0, 1.0));
    assert!(differ(&[("a", vec![1.0]), ("b", vec![5.0])]).is_none());
}

#[test]
fn one_machine_is_no_set_of_nodes() {
    let site = || Site {
        level: 1.0,
        effect: 0.0,
        blocks: 8,
    };
    let mut random = Random::new(1);
    assert!(Nodes::of(&workload(&[site()], 1.0, &mut random)).is_none());
    assert!(Nodes::of(&workload(&[site(), site()], 1.0, &mut random)).is_some());
}

#[test]
fn nodes_of_very_different_speed_do_not_hide_an_effect_that_is_the_same_on_all() {
    let sites = [
        site(1.0, -0.05, 4),
        site(3.0, -0.05, 4),
        site(20.0, -0.05, 4),
    ];
    let found = judged(&sites, 0.5, &mut Random::new(1), 1.0);
    assert_eq!(found.verdict, Verdict::Keep);
    assert!((found.effect_pct + 4.9).abs() < 0.5, "{}", found.effect_pct);
    let by_node = found.by_node.unwrap();
    let blocks: Vec<(&str, usize)> = by_node
        .effects
        .iter()
        .map(|node| (node.node.as_str(), node.n))
        .collect();
    assert_eq!(blocks, [("n0", 4), ("n1", 4), ("n2", 4)]);
    assert!(
        by_node
            .effects
            .iter()
            .all(|node| (node.effect_pct + 4.9).abs() < 1.5)
    );
    assert!(by_node.differ.unwrap().p > 0.01);
}

#[test]
fn an_effect_that_depends_on_the_node_is_said_to() {
    let sites = [site(1.0, -0.03, 8), site(1.0, -0.06, 8)];
    let found = judged(&sites, 0.5, &mut Random::new(2), 1.0);
    assert_eq!(found.verdict, Verdict::Keep);
    let test = found.by_node.unwrap().differ.unwrap();
    assert!(test.p < 1e-6, "{}", test.p);
    assert_eq!((test.df1, test.df2), (1.0, 14.0));
}

#[test]
fn a_node_that_contradicts_takes_the_verdict_back_and_is_named() {
    let sites = [
        site(1.0, -0.06, 30),
        site(1.0, -0.06, 30),
        site(1.0, 0.04, 6),
    ];
    let found = judged(&sites, 0.5, &mut Random::new(3), 1.0);
    assert!(found.ci95_pct.unwrap()[1] < -1.0, "{:?}", found.ci95_pct);
    assert_eq!(
        (found.verdict, found.direction),
        (Verdict::Inconclusive, None)
    );
    let reason = found.reason.unwrap();
    assert!(
        reason.contains("the nodes disagree: not so on n2;"),
        "{reason}"
    );
}

#[test]
fn one_block_a_node_is_a_sample_of_nodes_and_needs_no_second() {
    let sites: Vec<Site> = (1..=10).map(|n| site(f64::from(n), -0.05, 1)).collect();
    let found = judged(&sites, 0.5, &mut Random::new(4), 1.0);
    assert_eq!(found.verdict, Verdict::Keep);
    let by_node = found.by_node.unwrap();
    assert!(
        by_node
            .effects
            .iter()
            .all(|node| node.ci95_pct.is_none() && node.claim.is_none())
    );
    assert_eq!(by_node.differ, None);
}

#[test]
fn identical_programs_on_unlike_nodes_are_told_apart_as_seldom_as_promised() {
    let mut random = Random::new(5);
    let (runs, mut told, mut differ) = (2000, 0, 0);
    for _ in 0..runs {
        let sites = [site(1.0, 0.0, 5), site(2.0, 0.0, 4), site(9.0, 0.0, 3)];
        let found = judged(&sites, 2.0, &mut random, 0.0);
        let [low, high] = found.ci95_pct.unwrap();
        told += u32::from(low > 0.0 || high < 0.0);
        differ += u32::from(found.by_node.unwrap().differ.unwrap().p < 0.05);
    }
    // 5 % each; three standard deviations of 2,000 draws are 1.5 %.
    for count in [told, differ] {
        let share = f64::from(count) / f64::from(runs);
        assert!((0.035..0.065).contains(&share), "{share}");
    }
}

#[test]
fn a_node_claims_at_a_level_adjusted_for_the_number_of_nodes() {
    let mut random = Random::new(4);
    let workload = workload(&[site(1.0, 0.0, 10), site(1.0, 0.0, 10)], 1.0, &mut random);
    let samples = |arm: usize| workload.arms[arm].samples["time"].as_slice();
    let control = workload.control["time"].samples.as_slice();
    let blocks = Blocks::of(samples(0), Some(control), samples(1));
    let question = Question {
        baseline: "old",
        arm: "new",
        metric: "time",
        better: Better::Lower,
        margin_pct: 1.0,
    };
    let evidence =
        Evidence::of(&question, &blocks, None, Check::Passed, Stopping::Planned).unwrap();
    // Ten blocks with a standard error of 0.01 a node, which take turns.
    let around = |mean: f64, turn: usize| mean + if turn.is_multiple_of(2) { 0.03 } else { -0.03 };
    let effects = |first: f64, second: f64| -> Vec<(usize, f64)> {
        let mean = |block: usize| {
            if block.is_multiple_of(2) {
                first
            } else {
                second
            }
        };
        (0..20)
            .map(|block| (block, around(mean(block), block / 2)))
            .collect()
    };
    let limit = 0.01_f64.ln_1p();
    // t(.975, 9) = 2.262 and t(.9875, 9) = 2.685 errors beyond the margin.
    for (beyond, claimed) in [
        (0.0245, None),
        (0.0268, None),
        (0.027, Some(Verdict::Revert)),
    ] {
        let nodes = Nodes::of(&workload).unwrap();
        let judged = nodes.judge(&evidence, &effects(limit + beyond, -limit - beyond));
        let opposite = claimed.map(|_| Verdict::Keep);
        let claims: Vec<_> = judged.effects.iter().map(|node| node.claim).collect();
        assert_eq!(claims, [claimed, opposite], "{beyond}");
        let [low, high] = judged.effects[0].ci95_pct.unwrap();
        let half = 2.262_157_162_740_992 * 0.01;
        assert!((low / 100.0 - (limit + beyond - half).exp_m1()).abs() < 1e-9);
        assert!((high / 100.0 - (limit + beyond + half).exp_m1()).abs() < 1e-9);
        assert_eq!(judged.effects[0].n, 10);
    }
}
