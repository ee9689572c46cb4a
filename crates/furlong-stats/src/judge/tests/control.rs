//! The control: where it withholds a verdict, and where its noise decides nothing.

use std::collections::BTreeMap;

use super::{Case, around, only, simple, steady, warned};
use crate::comparison::CROSSES;
use crate::judge::{judge, judge_together};
use crate::stopping::{STOPPING, Stopping};
use crate::value::{Direction, Verdict, WorkloadResult};

#[test]
fn a_control_that_differs_from_the_baseline_withholds_every_verdict() {
    let workload = simple([100.0, 103.0, 50.0], 10).judged();
    assert!(workload.control["time"].failed);
    let found = only(&workload);
    assert_eq!(
        (found.verdict, found.direction),
        (Verdict::Inconclusive, None)
    );
    let reason = found.reason.as_deref().unwrap();
    assert!(reason.contains("control failed"), "{reason}");
    assert!(warned(&workload, "control failed for time"));
}

#[test]
fn without_a_control_there_is_no_verdict() {
    let mut case = simple([100.0, 100.0, 50.0], 10);
    case.workload.control.clear();
    let workload = case.judged();
    assert_eq!(only(&workload).verdict, Verdict::Inconclusive);
    assert!(only(&workload).ci95_pct.is_some() && warned(&workload, "no control"));
}

#[test]
fn a_control_that_is_off_by_less_than_half_the_margin_has_not_failed() {
    // Certain, but too little to turn a verdict over.
    let mut case = simple([100.0, 100.4, 97.0], 10);
    judge(&mut case.workload, &case.metrics, &case.order, Some(1.0));
    assert!(!case.workload.control["time"].failed);
    assert_eq!(only(&case.workload).verdict, Verdict::Keep);
    judge(&mut case.workload, &case.metrics, &case.order, Some(0.5));
    assert!(case.workload.control["time"].failed);
    assert_eq!(only(&case.workload).verdict, Verdict::Inconclusive);
    assert!(warned(&case.workload, "control failed for time"));
    // A wider margin takes the warning back.
    judge(&mut case.workload, &case.metrics, &case.order, Some(1.0));
    assert_eq!(case.workload.warnings, Vec::<String>::new());
}

/// Baseline and control, apart by up to 8 % of 100 in turn, around the same mean.
fn apart(blocks: usize) -> [Vec<Option<f64>>; 2] {
    let off = |i: usize| if i.is_multiple_of(2) { 0.04 } else { -0.04 };
    [1.0, -1.0].map(|sign| {
        let values = (0..blocks).map(|i| Some(100.0 * f64::exp(sign * off(i))));
        values.collect()
    })
}

#[test]
fn a_noise_floor_above_the_margin_decides_nothing() {
    for (level, wanted) in [
        (97.0, Verdict::Keep),
        (103.0, Verdict::Revert),
        (100.0, Verdict::Equivalent),
        (99.0, Verdict::Inconclusive),
    ] {
        let [a, again] = apart(10);
        let samples = [a, again, around(level, 7, 10)];
        let workload = Case::timed(&samples).judged();
        let control = &workload.control["time"];
        assert!(control.floor_pct.unwrap() > 5.0 && !control.failed);
        assert_eq!(only(&workload).verdict, wanted, "{level}");
    }
}

#[test]
fn an_open_size_has_a_direction_and_an_open_direction_has_none() {
    let compared = |level: f64, blocks: usize| {
        let workload = simple([100.0, 100.0, level], blocks).judged();
        let found = only(&workload);
        (found.verdict, found.direction, found.reason.clone())
    };
    let open = |direction| {
        let reason = Some(CROSSES.to_owned());
        (Verdict::Inconclusive, direction, reason)
    };
    assert_eq!(compared(101.0, 10), open(Some(Direction::Worse)));
    assert_eq!(compared(99.0, 10), open(Some(Direction::Better)));
    assert_eq!(compared(50.0, 5).1, None);
    let mut samples = steady(&[(100.0, 7)]);
    for value in samples.iter_mut().flatten().flatten() {
        *value = 100.0 + 20.0 * (*value - 100.0);
    }
    let noisy = Case::timed(&samples).judged();
    let found = only(&noisy);
    assert_eq!(
        (found.verdict, found.direction, found.reason.clone()),
        open(None)
    );
    let exact = simple([100.0, 100.0, 97.0], 10).exact("calls", &[4.0, 5.0]);
    let exact = exact.judged();
    assert_eq!(exact.comparisons[1].direction, Some(Direction::Worse));
    let constant = [4.0, 4.0, 3.0].map(|value| vec![Some(value); 10]);
    let constant = Case::new(&["new"], 10).sampled("faults", &constant);
    assert_eq!(only(&constant.judged()).direction, Some(Direction::Better));
}

#[test]
fn the_direction_is_that_of_the_adjusted_interval() {
    let judged = |level: f64, others: usize| {
        let mut arms = vec![(level, 7)];
        arms.extend((0..others).map(|_| (99.0, 2)));
        let case = Case::timed(&steady(&arms));
        case.judged().comparisons.swap_remove(0)
    };
    // The upper end of the arm's own interval is just below zero; that of one arm among four, which
    // decide nothing, is above.
    let [_, high] = judged(99.9, 0).ci95_pct.unwrap();
    let level = 99.9 / (1.0 + high / 100.0) * 0.999_999;
    let (alone, among) = (judged(level, 0), judged(level, 3));
    assert_eq!(alone.direction, Some(Direction::Better));
    assert_eq!(alone.ci95_pct, among.ci95_pct);
    assert!(alone.ci95_pct.unwrap()[1] < 0.0 && among.ci_adj_pct.unwrap()[1] > 0.0);
    assert_eq!(among.direction, None);
}

#[test]
fn only_the_control_at_the_look_that_decides_counts() {
    // The control is slower in the first blocks alone.
    let blocks = 30;
    let mut again = around(100.0, 3, blocks);
    for value in again.iter_mut().take(6).flatten() {
        *value *= 1.02;
    }
    let samples = [around(100.0, 0, blocks), again, around(90.0, 7, blocks)];
    let at = |look: usize| {
        let cut = |all: &Vec<Option<f64>>| all[..look].to_vec();
        let samples: Vec<_> = samples.iter().map(cut).collect();
        let mut case = Case::timed(&samples);
        let (planned, looks) = (30, 5);
        let rule = serde_json::to_value(Stopping::Early { planned, looks }).unwrap();
        case.workload.params.insert(STOPPING.to_owned(), rule);
        let workload = case.judged();
        (
            workload.control["time"].failed,
            only(&workload).verdict,
            workload.warnings.len(),
        )
    };
    assert_eq!(at(6), (true, Verdict::Inconclusive, 1));
    let (failed, verdict, _) = at(30);
    assert_eq!((failed, verdict), (false, Verdict::Keep));
}

/// A workload whose control is off by this many errors of its mean, and whose arm is clearly less.
fn off_by(errors: f64) -> WorkloadResult {
    let turn = |i: usize| if i.is_multiple_of(2) { 0.03 } else { -0.03 };
    let again = (0..10).map(|i| Some(100.0 * f64::exp(0.01 * errors + turn(i))));
    let samples = [vec![Some(100.0); 10], again.collect(), around(50.0, 7, 10)];
    Case::timed(&samples).workload
}

#[test]
fn controls_of_workloads_that_are_judged_together_are_a_family() {
    // t(.995, 9) = 3.250 and t(.99875, 9) = 4.094, a quarter of the error.
    let case = simple([100.0; 3], 10);
    let failed = |errors: &[f64]| -> Vec<bool> {
        let mut all: Vec<_> = errors.iter().copied().map(off_by).collect();
        judge_together(&mut all, &case.metrics, &case.order, None);
        let outcomes = all.iter().map(|workload| {
            let failed = workload.control["time"].failed;
            let open = only(workload).verdict == Verdict::Inconclusive;
            assert_eq!((failed, failed), (open, warned(workload, "control failed")));
            failed
        });
        outcomes.collect()
    };
    assert_eq!(failed(&[3.2]), [false]);
    assert_eq!(failed(&[3.3]), [true]);
    assert_eq!(failed(&[-3.3]), [true]);
    assert_eq!(failed(&[3.3, 0.0]), [false, false]);
    assert_eq!(failed(&[4.05, 0.1, 0.2, 0.3]), [false; 4]);
    assert_eq!(failed(&[0.1, 4.15, 0.2, 0.3]), [false, true, false, false]);
    // The second step has a family of one less.
    assert_eq!(failed(&[9.0, 3.3]), [true, true]);
}

#[test]
fn a_family_has_the_controls_of_one_metric_and_changes_nothing_else() {
    let two = |errors: f64| {
        let mut case = simple([100.0, 100.0, 90.0], 10);
        let more = off_by(errors);
        let values = |i: usize| more.arms[i].samples["time"].clone();
        let again = more.control["time"].samples.clone();
        let samples = [values(0), again, values(1)];
        case = case.sampled("faults", &samples);
        case
    };
    let (first, second) = (two(3.3), two(0.0));
    let mut together = [first.workload.clone(), second.workload.clone()];
    judge_together(&mut together, &first.metrics, &first.order, None);
    assert!(!together[0].control["faults"].failed);
    let alone = [first.judged(), second.judged()];
    assert!(alone[0].control["faults"].failed);
    assert_eq!(together[1], alone[1]);
    let of_time = |workload: &WorkloadResult| {
        let comparison = workload.comparisons[0].clone();
        (comparison, workload.control["time"].clone())
    };
    assert_eq!(of_time(&together[0]), of_time(&alone[0]));
    assert_eq!(
        together[0].comparisons[1].ci95_pct,
        alone[0].comparisons[1].ci95_pct
    );
    judge_together(&mut [], &BTreeMap::new(), &[], None);
}
