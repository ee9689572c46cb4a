//! Workloads that are decided together.

use super::{Case, around};
use crate::judge_together;
use crate::random::Random;
use crate::stopping::FAMILY;
use crate::value::{Verdict, WorkloadResult};

/// The verdicts on workloads whose arms have samples, judged as a family of `family`.
fn verdicts(cases: &[Case], family: usize, margin: f64) -> Vec<Verdict> {
    let mut workloads: Vec<WorkloadResult> = vec![];
    for case in cases {
        let mut workload = case.workload.clone();
        let family = serde_json::Value::from(family);
        workload.params.insert(FAMILY.to_owned(), family);
        workloads.push(workload);
    }
    let (metrics, order) = (&cases[0].metrics, &cases[0].order);
    judge_together(&mut workloads, metrics, order, Some(margin));
    let comparisons = workloads.iter().map(|one| one.comparisons[0].verdict);
    comparisons.collect()
}

/// Ten blocks of normal noise, with an arm whose level is higher by a share.
fn noisy(random: &mut Random, higher: f64) -> Case {
    let mut values = |level: f64| -> Vec<Option<f64>> {
        (0..10)
            .map(|_| Some(level * (1.0 + 0.01 * random.normal())))
            .collect()
    };
    Case::timed(&[values(100.0), values(100.0), values(100.0 * (1.0 + higher))])
}

#[test]
fn twenty_workloads_without_an_effect_raise_an_alarm_in_at_most_one_run_of_twenty() {
    let mut random = Random::new(20);
    let (mut together, mut apart) = (0, 0);
    for _ in 0..200 {
        let cases: Vec<Case> = (0..20).map(|_| noisy(&mut random, 0.0)).collect();
        let alarm = |family| {
            let found = verdicts(&cases, family, 0.0);
            let is_alarm = |verdict: &Verdict| *verdict == Verdict::Revert;
            found.iter().any(is_alarm)
        };
        together += usize::from(alarm(20));
        apart += usize::from(alarm(1));
    }
    // Half of the errors of 5 % are alarms, the others false improvements.
    assert!(together <= 10, "{together} of 200");
    assert!(apart > 50, "{apart} of 200");
}

#[test]
fn a_verdict_leaves_more_of_the_error_to_the_others() {
    let clear = |place| {
        Case::timed(&[
            around(100.0, 0, 10),
            around(100.0, 3, 10),
            around(110.0, place, 10),
        ])
    };
    // The noise of one per cent decides among two, and not among twenty.
    let mut random = Random::new(6);
    let found = (0..200).map(|_| noisy(&mut random, 0.013)).find(|case| {
        let one = std::slice::from_ref(case);
        verdicts(one, 2, 0.0)[0] == Verdict::Revert && verdicts(one, 20, 0.0)[0] != Verdict::Revert
    });
    let weak = found.expect("no such case among 200");
    let mut cases: Vec<Case> = (0..19).map(|place| clear(place % 10)).collect();
    cases.push(weak);
    assert_eq!(verdicts(&cases, 20, 0.0), [Verdict::Revert; 20]);
    // Of those that were not measured, nothing is known: they are not decided.
    assert_eq!(verdicts(&cases, 38, 0.0)[19], Verdict::Inconclusive);
}
