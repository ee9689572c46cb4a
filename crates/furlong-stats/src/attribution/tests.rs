use super::{Attribution, Calls, Cause, Costs, Function, attribution};
use crate::random::Random;

/// A function: its name, its own cost, and its calls.
type Line<'a> = (&'a str, f64, &'a [(&'a str, f64)]);

/// So many calls. Their costs are not used.
fn calls_of(number: f64) -> Calls {
    Calls { number, cost: 0.0 }
}

/// The costs of functions.
fn costs(lines: &[Line<'_>]) -> Costs {
    let function = |(name, own, calls): &Line<'_>| {
        let calls = calls
            .iter()
            .map(|(name, number)| ((*name).to_owned(), calls_of(*number)));
        let calls = calls.collect();
        ((*name).to_owned(), Function { own: *own, calls })
    };
    Costs {
        functions: lines.iter().map(function).collect(),
    }
}

/// The differences are the whole change, the largest first.
fn adds_up(found: &Attribution) {
    let sizes = found.causes.iter().map(|cause| cause.difference.abs());
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{found:?}");
    let sum: f64 = found.causes.iter().map(|cause| cause.difference).sum();
    let [base, other] = found.totals;
    let error = (sum - (other - base)).abs() / base.abs().max(other.abs()).max(1.0);
    assert!(error < 1e-9, "{sum} of {}", other - base);
}

#[test]
fn a_function_called_more_often_is_not_the_cause_but_its_caller_is() {
    let base = costs(&[
        ("main", 10.0, &[("step", 5.0)]),
        ("step", 50.0, &[("leaf", 10.0)]),
        ("leaf", 1000.0, &[]),
    ]);
    let other = costs(&[
        ("main", 10.0, &[("step", 5.0)]),
        ("step", 55.0, &[("leaf", 20.0)]),
        ("leaf", 2000.0, &[]),
    ]);
    let found = attribution([&base, &other]);
    adds_up(&found);
    let [cause] = &found.causes[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (cause.function.as_str(), cause.difference),
        ("step", 1005.0)
    );
    let callee = cause.callee.as_ref().expect("its calls changed most");
    assert_eq!(
        (callee.function.as_str(), callee.calls),
        ("leaf", [2.0, 4.0])
    );
}

#[test]
fn a_slower_body_is_the_cause_itself() {
    let lines = |own| costs(&[("main", 10.0, &[("leaf", 10.0)]), ("leaf", own, &[])]);
    let found = attribution([&lines(1000.0), &lines(1500.0)]);
    adds_up(&found);
    assert_eq!(found.causes[0].function, "leaf");
    assert_eq!(found.causes[0].own, [100.0, 150.0]);
    assert_eq!(found.causes[0].callee, None);
}

#[test]
fn a_function_that_is_no_longer_inlined_is_named_by_its_caller() {
    let base = costs(&[("main", 10.0, &[("step", 5.0)]), ("step", 500.0, &[])]);
    let other = costs(&[
        ("main", 10.0, &[("step", 5.0)]),
        ("step", 300.0, &[("part", 50.0)]),
        ("part", 600.0, &[]),
    ]);
    let found = attribution([&base, &other]);
    adds_up(&found);
    let [cause] = &found.causes[..] else {
        panic!("{found:?}")
    };
    assert_eq!((cause.function.as_str(), cause.difference), ("step", 400.0));
    let callee = cause.callee.as_ref().expect("it is called now");
    assert_eq!(callee.occurs, [false, true]);
}

#[test]
fn a_renamed_function_makes_no_difference() {
    let of = |name: &'static str| costs(&[("main", 1.0, &[(name, 2.0)]), (name, 8.0, &[])]);
    let found = attribution([&of("old"), &of("new")]);
    adds_up(&found);
    assert!(found.causes.is_empty(), "{found:?}");
}

#[test]
fn recursion_and_circles_add_up() {
    let base = costs(&[
        ("main", 1.0, &[("even", 1.0)]),
        ("even", 110.0, &[("odd", 10.0)]),
        ("odd", 100.0, &[("even", 10.0)]),
    ]);
    let other = costs(&[
        ("main", 1.0, &[("even", 1.0)]),
        ("even", 220.0, &[("odd", 20.0), ("even", 1.0)]),
        ("odd", 250.0, &[("even", 20.0)]),
    ]);
    adds_up(&attribution([&base, &other]));
}

#[test]
fn differences_of_any_two_programs_add_up() {
    let mut random = Random::new(7);
    for _ in 0..300 {
        let mut one = || {
            // A function calls only later ones: calls in proportion to its own.
            let mut calls = [0.0_f64; 12];
            calls[0] = 1.0;
            let mut made = Costs::default();
            for at in 0..12 {
                let mut function = Function {
                    own: calls[at] * (random.below(50) as f64),
                    ..Function::default()
                };
                for later in at + 1..12 {
                    if calls[at] > 0.0 && random.below(4) == 0 {
                        let more = calls[at] * random.below(5) as f64;
                        calls[later] += more;
                        function.calls.insert(format!("f{later}"), calls_of(more));
                    }
                }
                if calls[at] > 0.0 {
                    made.functions.insert(format!("f{at}"), function);
                }
            }
            made
        };
        let [one, other] = [one(), one()];
        let found = attribution([&one, &other]);
        adds_up(&found);
        // The other way round it is the opposite.
        let back = attribution([&other, &one]);
        for cause in &found.causes {
            let same = |other: &&Cause| other.function == cause.function;
            let opposite = back.causes.iter().find(same).unwrap().difference;
            assert!((opposite + cause.difference).abs() < 1e-6, "{found:?}");
        }
    }
}

#[test]
fn a_program_with_another_name_is_the_same() {
    let of = |main: &'static str, part: &'static str| {
        costs(&[(main, 1.0, &[(part, 2.0)]), (part, 8.0, &[])])
    };
    let found = attribution([
        &of("old::main", "<old::Map<old::Key> as core::Clone>::clone"),
        &of("new::main", "<new::Map<new::Key> as core::Clone>::clone"),
    ]);
    assert!(found.causes.is_empty(), "{found:?}");
    let found = attribution([&of("old::main", "old::f"), &of("new::main", "renew::f")]);
    adds_up(&found);
}

/// Two handlers of an interpreter that call each other, and one that both call.
fn interpreter(rounds: f64, own: f64) -> Costs {
    costs(&[
        ("main", 10.0, &[("add", 1.0)]),
        ("add", own * rounds, &[("jump", rounds), ("leaf", rounds)]),
        ("jump", 5.0 * rounds, &[("add", rounds - 1.0)]),
        ("leaf", 2.0 * rounds, &[]),
    ])
}

#[test]
fn members_of_a_circle_have_the_change_of_their_own() {
    let found = attribution([&interpreter(100.0, 7.0), &interpreter(1000.0, 7.0)]);
    adds_up(&found);
    let parts = found.causes.iter();
    let parts: Vec<_> = parts
        .map(|cause| (cause.function.as_str(), cause.difference.round()))
        .collect();
    assert_eq!(parts, [("add", 900.0 * 9.0), ("jump", 900.0 * 5.0)]);
    assert_eq!(
        (found.causes[0].calls, found.causes[0].own),
        ([100.0, 1000.0], [7.0; 2])
    );
    assert!(found.causes.iter().all(|cause| cause.circle));
    let found = attribution([&interpreter(100.0, 7.0), &interpreter(100.0, 8.0)]);
    adds_up(&found);
    assert_eq!((found.causes.len(), found.causes[0].own), (1, [7.0, 8.0]));
}

#[test]
fn a_circle_that_nothing_enters_adds_up() {
    let of = |own| costs(&[("a", own, &[("b", 3.0)]), ("b", 5.0, &[("a", 3.0)])]);
    let found = attribution([&of(10.0), &of(25.0)]);
    adds_up(&found);
    assert_eq!(found.causes[0].function, "a");
}

#[test]
fn a_circle_that_is_entered_by_another_function_is_not_the_cause() {
    // Seldom used, `clean` and `write` call each other; then `main` writes a lot.
    let of = |writes: f64| {
        let mut calls = vec![("clean", 10.0)];
        if writes > 0.0 {
            calls.push(("write", writes));
        }
        costs(&[
            ("main", 10.0, &calls),
            ("clean", 10_500.0, &[("write", 11.0)]),
            ("write", 50.0 * (writes + 11.0), &[("clean", 1.0)]),
        ])
    };
    let found = attribution([&of(0.0), &of(1e6)]);
    adds_up(&found);
    let part = |name: &str| {
        let cause = found.causes.iter().find(|cause| cause.function == name);
        cause.map_or(0.0, |cause| cause.difference) / 5e7
    };
    assert!((part("main") - 1.0).abs() < 0.01, "{found:?}");
    assert!(part("clean").abs() < 0.01, "{found:?}");
}
