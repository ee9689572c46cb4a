//! Cases at the limits of tests, families and inputs.

use super::{Case, around, only, simple, steady, warned};
use crate::comparison::FROM_ZERO;
use crate::rank::mann_whitney;
use crate::student::student;
use crate::value::{Kind, Verdict, WorkloadResult};
use crate::variance::brown_forsythe;
use crate::welch::welch;

/// Baseline, control and two arms; the second has a value in its first block alone.
fn with_one_value() -> WorkloadResult {
    let mut once = around(80.0, 4, 10);
    once[1..].fill(None);
    let mut samples = steady(&[(90.0, 7)]);
    samples.push(once);
    Case::timed(&samples).judged()
}

#[test]
fn one_block_or_a_constant_has_no_test_and_no_part_in_an_adjustment() {
    let workload = with_one_value();
    let [all, once] = &workload.comparisons[..] else {
        panic!("two comparisons");
    };
    assert_eq!((all.n, all.level, all.verdict), (10, None, Verdict::Keep));
    assert_eq!((once.n, once.level, once.paired), (1, None, None));

    let constant = |value: f64| vec![Some(value); 10];
    let metric = steady(&[(100.0, 7)]);
    let faults = [constant(4.0), constant(4.0), constant(3.0)];
    let case = Case::timed(&metric).sampled("faults", &faults);
    let workload = case.sampled("switches", &metric).judged();
    let levels: Vec<_> = workload.comparisons.iter().map(|one| one.level).collect();
    assert_eq!(levels, [None; 3]);
}

/// Counts of the baseline and an arm, by input.
fn counts(a: &[f64], b: &[f64]) -> Case {
    let mut case = Case::new(&["new"], a.len().max(b.len()));
    case.declare("calls", Kind::Exact);
    for (arm, values) in case.workload.arms.iter_mut().zip([a, b]) {
        let values = values.iter().copied().map(Some).collect();
        arm.samples.insert("calls".to_owned(), values);
    }
    case
}

#[test]
fn counts_that_change_differently_by_input_have_a_range() {
    let counted = |a: [f64; 2], b: [f64; 2]| {
        let workload = counts(&a, &b).judged();
        let found = only(&workload);
        (
            found.n,
            found.verdict,
            found.reason.clone().unwrap_or_default(),
        )
    };
    assert_eq!(
        counted([100.0, 200.0], [90.0, 160.0]),
        (
            2,
            Verdict::Keep,
            "from -20.00 % to -10.00 % over the inputs".to_owned()
        )
    );
    let (_, verdict, reason) = counted([100.0, 200.0], [90.0, 180.0]);
    assert_eq!((verdict, reason.as_str()), (Verdict::Keep, ""));
    let (_, _, reason) = counted([0.0, 200.0], [90.0, 180.0]);
    assert_eq!(reason, FROM_ZERO);
}

#[test]
fn the_marked_metric_decides_and_otherwise_the_first_of_its_kind_that_has_values() {
    let primary = |marked: &str, without: &[&str]| {
        let samples = steady(&[(100.0, 7)]);
        let mut case = Case::new(&["new"], 10);
        for name in ["a", "b", "c", "d"] {
            case = case.sampled(name, &samples);
            case.metrics.get_mut(name).unwrap().primary = name == marked;
        }
        for arm in &mut case.workload.arms {
            arm.samples
                .retain(|name, _| !without.contains(&name.as_str()));
        }
        case.deciding().to_owned()
    };
    assert_eq!(primary("c", &[]), "c");
    assert_eq!(primary("none", &[]), "a");
    assert_eq!(primary("c", &["c"]), "a");
    assert_eq!(primary("a", &["a"]), "b");
    assert_eq!(primary("none", &["a", "b"]), "c");
    assert_eq!(primary("c", &["a", "b", "c", "d"]), "c");
    assert!(Case::new(&[], 1).workload.primary(&[]).is_none());
}

#[test]
fn figures_of_a_comparison_follow_their_formulas() {
    let workload = simple([100.0, 100.0, 97.0], 10).judged();
    let found = only(&workload);
    let values = |i: usize, level: f64, places: usize| {
        let v = around(level, places, 10)[i];
        v.unwrap().ln()
    };
    let effects: Vec<f64> = (0..10)
        .map(|i| {
            let again = f64::midpoint(values(i, 100.0, 0), values(i, 100.0, 3));
            values(i, 97.0, 7) - again
        })
        .collect();
    let mean = effects.iter().sum::<f64>() / 10.0;
    let squares: f64 = effects.iter().map(|d| (d - mean).powi(2)).sum();
    let error = (squares / 9.0 / 10.0).sqrt();
    let pct = |log: f64| 100.0 * log.exp_m1();
    let (t975, t80) = (2.262_157_162_740_992, 0.883_403_859_688_4);
    let close = |found: f64, wanted: f64| {
        assert!((found - wanted).abs() < 1e-8, "{found} is not {wanted}");
    };
    close(found.effect_pct, pct(mean));
    let [low, high] = found.ci95_pct.unwrap();
    close(low, pct(mean - t975 * error));
    close(high, pct(mean + t975 * error));
    close(
        found.mde_pct.unwrap(),
        pct(0.01_f64.ln_1p() + (t975 + t80) * error),
    );
    close(found.paired.unwrap().t, mean / error);
    assert_eq!(found.paired.unwrap().df, 9.0);
}

#[test]
fn the_strongest_claim_has_the_strictest_level_and_the_first_failure_stops() {
    let levels = |of_arms: [f64; 3]| {
        let [b, c, d] = of_arms;
        let workload = Case::timed(&steady(&[(b, 7), (c, 4), (d, 8)])).judged();
        let levels = workload.comparisons.iter().map(|one| one.level.unwrap());
        levels
            .map(|level| (0.05 / (1.0 - level)).round() as u32)
            .collect::<Vec<u32>>()
    };
    // The i-th smallest p has 0.05 over the number of those left.
    assert_eq!(levels([98.0, 60.0, 90.0]), [1, 3, 2]);
    assert_eq!(levels([60.0, 90.0, 98.0]), [3, 2, 1]);
    // At the margin nothing can be claimed, so the second step is never passed.
    assert_eq!(levels([99.01, 60.0, 99.01]), [2, 3, 2]);
}

#[test]
fn a_metric_with_some_values_can_decide() {
    let mut case = simple([100.0, 100.0, 90.0], 10).exact("calls", &[4.0, 5.0]);
    for arm in &mut case.workload.arms {
        arm.samples.get_mut("time").unwrap()[3] = None;
    }
    let case = case.sampled("faults", &steady(&[(100.0, 7)]));
    assert_eq!(case.deciding(), "time");
}

#[test]
fn the_tests_beside_a_verdict_are_of_the_arm_against_the_baseline() {
    let workload = simple([100.0, 100.0, 97.0], 10).judged();
    let found = only(&workload);
    let values =
        |level, places| -> Vec<f64> { around(level, places, 10).into_iter().flatten().collect() };
    let (a, mut b) = (values(100.0, 0), values(97.0, 7));
    assert_eq!(found.student, student(&a, &b, 0.95));
    assert_eq!(found.welch, welch(&a, &b));
    assert_eq!(found.mann_whitney, Some(mann_whitney(&a, &b)));
    assert_eq!(found.variance, brown_forsythe(&a, &b));
    b.iter_mut().zip(0..).for_each(|(v, i)| *v += f64::from(i));
    let wide = b.iter().copied().map(Some).collect();
    let mut samples = steady(&[]);
    samples.push(wide);
    let wider = Case::timed(&samples).judged();
    assert!(only(&wider).variance.unwrap().ratio > 100.0);
}

#[test]
fn one_count_is_compared_with_several_inputs() {
    for (a, b) in [
        (&[4.0][..], &[5.0, 6.0, 7.0][..]),
        (&[5.0, 6.0, 7.0], &[4.0]),
    ] {
        assert_eq!(only(&counts(a, b).judged()).n, 3);
    }
}

#[test]
fn counts_of_one_input_are_never_compared_with_those_of_another() {
    let without = |lost: [usize; 2]| {
        let mut case = counts(&[100.0, 200.0, 300.0], &[90.0, 180.0, 270.0]);
        for (arm, lost) in case.workload.arms.iter_mut().zip(lost) {
            arm.samples.get_mut("calls").unwrap()[lost] = None;
        }
        case.judged()
    };
    // Both lack the same input.
    let alike = without([1, 1]);
    let found = only(&alike);
    assert_eq!((found.n, found.verdict), (2, Verdict::Keep));
    assert!((found.effect_pct + 10.0).abs() < 1e-9);
    let unlike = without([0, 1]);
    assert_eq!(unlike.comparisons, vec![]);
    assert!(warned(&unlike, "no values for the same inputs"));
}

#[test]
fn a_constant_at_the_margin_is_within_it_however_its_logarithm_is_rounded() {
    for level in [1e3_f64, 2e3, 3e3, 7e3, 1e9] {
        let [a, b] = [level, 1.01 * level].map(|level| vec![Some(level.round()); 6]);
        for [a, b] in [[&a, &b], [&b, &a]] {
            let judged = Case::timed(&[a.clone(), a.clone(), b.clone()]).judged();
            assert_eq!(only(&judged).verdict, Verdict::Equivalent, "{level}");
        }
    }
}
