use super::{Frame, frames, with_callees};
use crate::attribution::{Calls, Costs, Function};
use crate::random::Random;

/// A function: its name, its own cost, and the costs of its calls.
type Line<'a> = (&'a str, f64, &'a [(&'a str, f64)]);

fn costs(lines: &[Line<'_>]) -> Costs {
    let function = |(name, own, calls): &Line<'_>| {
        let calls = calls.iter().map(|(name, cost)| {
            (
                (*name).to_owned(),
                Calls {
                    number: 1.0,
                    cost: *cost,
                },
            )
        });
        let calls = calls.collect();
        ((*name).to_owned(), Function { own: *own, calls })
    };
    Costs {
        functions: lines.iter().map(function).collect(),
    }
}

/// The frames of two runs without copies of functions.
fn frames_of(runs: [&Costs; 2], most: usize) -> Vec<Frame> {
    frames(runs, str::to_owned, most)
}

/// A frame as in a folded stack: `main;step`.
fn folded(frames: &[Frame], at: usize) -> String {
    match frames[at].caller {
        Some(0) => frames[at].function.clone(),
        Some(caller) => format!("{};{}", folded(frames, caller), frames[at].function),
        None => "all".to_owned(),
    }
}

/// All stacks with an own cost, by name.
fn stacks(frames: &[Frame]) -> Vec<(String, [f64; 2])> {
    let all = frames.iter().enumerate();
    let all = all.filter(|(_, frame)| frame.own != [0.0; 2]);
    let mut all: Vec<_> = all
        .map(|(at, frame)| (folded(frames, at), frame.own))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn shown(runs: [&Costs; 2]) -> Vec<(String, [f64; 2])> {
    stacks(&frames_of(runs, 200))
}

fn named(stacks: &[(&str, [f64; 2])]) -> Vec<(String, [f64; 2])> {
    let all = stacks.iter().map(|(name, own)| ((*name).to_owned(), *own));
    all.collect()
}

#[test]
fn a_cost_is_divided_among_callers_by_the_costs_of_their_calls() {
    let run = |leaf: f64| {
        let (dear, cheap) = (0.75 * (leaf + 40.0), 0.25 * (leaf + 40.0));
        costs(&[
            (
                "main",
                10.0,
                &[("dear", 20.0 + dear), ("cheap", 30.0 + cheap)],
            ),
            ("dear", 20.0, &[("leaf", dear)]),
            ("cheap", 30.0, &[("leaf", cheap)]),
            ("leaf", leaf, &[("end", 40.0)]),
            ("end", 40.0, &[]),
        ])
    };
    assert_eq!(
        shown([&run(400.0), &run(800.0)]),
        named(&[
            ("main", [10.0; 2]),
            ("main;cheap", [30.0; 2]),
            ("main;cheap;leaf", [100.0, 200.0]),
            ("main;cheap;leaf;end", [10.0; 2]),
            ("main;dear", [20.0; 2]),
            ("main;dear;leaf", [300.0, 600.0]),
            ("main;dear;leaf;end", [30.0; 2]),
        ])
    );
}

#[test]
fn recursion_is_once_in_a_stack() {
    let run = |expr: f64, [in_expr, in_term]: [f64; 2]| {
        costs(&[
            ("main", 0.0, &[("expr", in_expr), ("term", in_term)]),
            ("expr", expr, &[("term", 300.0), ("expr", 900.0)]),
            ("term", 64.0, &[("expr", 200.0)]),
        ])
    };
    // The term has 300 of 400 or of 600 from the expression; its own calls lead back in both runs,
    // although in the second it is called more than the expression.
    let base = run(136.0, [500.0, 100.0]);
    let other = run(200.0, [200.0, 300.0]);
    let wanted = [
        ("main;expr", [136.0, 200.0]),
        ("main;expr;term", [48.0, 32.0]),
        ("main;term", [16.0, 32.0]),
    ];
    assert_eq!(shown([&base, &other]), named(&wanted));
}

#[test]
fn copies_of_a_function_keep_their_callers_apart() {
    let run = |added: f64| {
        let large = 300.0 + added;
        costs(&[
            ("main", 0.0, &[("a", 100.0), ("b", large)]),
            ("a", 0.0, &[("map:1", 100.0)]),
            ("b", 0.0, &[("map:2", 200.0), ("map:3", 100.0 + added)]),
            ("map:1", 60.0, &[("x", 40.0)]),
            ("map:2", 150.0, &[("y", 50.0)]),
            ("map:3", 100.0 + added, &[]),
            ("x", 40.0, &[]),
            ("y", 50.0, &[]),
        ])
    };
    let without = |name: &str| name.split(':').next().unwrap_or(name).to_owned();
    assert_eq!(
        stacks(&frames([&run(0.0), &run(80.0)], without, 200)),
        named(&[
            ("main;a;map", [60.0; 2]),
            ("main;a;map;x", [40.0; 2]),
            ("main;b;map", [250.0, 330.0]),
            ("main;b;map;y", [50.0; 2]),
        ])
    );
}

#[test]
fn a_circle_that_nothing_enters_and_a_function_of_one_run_are_entered_by_the_start() {
    let base = costs(&[("a", 8.0, &[("b", 4.0)]), ("b", 4.0, &[("a", 2.0)])]);
    let other = costs(&[("new", 16.0, &[])]);
    let wanted = [("a", [8.0, 0.0]), ("a;b", [4.0, 0.0]), ("new", [0.0, 16.0])];
    assert_eq!(shown([&base, &other]), named(&wanted));
    assert_eq!(frames_of([&Costs::default(); 2], 200).len(), 1);
}

#[test]
fn the_crate_of_main_may_have_two_names() {
    let run = |name: &str| {
        let [main, part] = ["main", "part"].map(|one| format!("{name}::{one}"));
        costs(&[(&main, 1.0, &[(&part, 7.0)]), (&part, 7.0, &[])])
    };
    let wanted = [("old::main", [1.0; 2]), ("old::main;old::part", [7.0; 2])];
    assert_eq!(shown([&run("old"), &run("new")]), named(&wanted));
}

#[test]
fn small_stacks_are_a_part_of_their_callers() {
    let run = |small: f64| {
        costs(&[
            ("main", 8.0, &[("big", 4000.0), ("small", small)]),
            ("big", 4000.0, &[]),
            ("small", small, &[]),
        ])
    };
    let [base, other] = [run(2.0), run(4.0)];
    let wanted = [("main", [10.0, 12.0]), ("main;big", [4000.0; 2])];
    assert_eq!(shown([&base, &other]), named(&wanted));
    // It is large enough in one of both.
    assert_eq!(shown([&base, &run(5.0)]).len(), 3);
    let two = stacks(&frames_of([&base, &other], 2));
    assert_eq!(two, named(&[("main", [4010.0, 4012.0])]));
}

/// A program of random functions, whose calls may go in circles.
fn random(seed: u64) -> Costs {
    let mut random = Random::new(seed);
    let mut costs = Costs::default();
    for at in 0..40 {
        let mut function = Function {
            own: random.below(1000) as f64,
            ..Function::default()
        };
        for _ in 0..random.below(6) {
            let (name, cost) = (format!("f{}", random.below(44)), random.below(5000) as f64);
            function.calls.insert(name, Calls { number: 1.0, cost });
        }
        costs.functions.insert(format!("f{at}"), function);
    }
    costs
}

#[test]
fn the_own_costs_of_all_frames_are_those_of_the_runs() {
    for seed in 0..300 {
        let runs = [random(2 * seed), random(2 * seed + 1)];
        let found = frames_of([&runs[0], &runs[1]], 200);
        assert!(found.len() <= 200, "seed {seed}");
        let sums = with_callees(&found)[0];
        for (run, sum) in runs.iter().zip(sums) {
            let error = (sum / run.total() - 1.0).abs();
            assert!(error < 1e-12, "seed {seed}: {sum} of {}", run.total());
        }
        for (at, frame) in found.iter().enumerate() {
            assert!(frame.caller.is_none_or(|caller| caller < at), "seed {seed}");
            let mut above = frame.caller;
            while let Some(caller) = above {
                assert_ne!(found[caller].function, frame.function, "seed {seed}");
                above = found[caller].caller;
            }
        }
    }
}
