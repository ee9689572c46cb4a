//! Precedence of margins, floors and rules.

use super::{Case, around, only, rising, simple, warned};
use crate::comparison::{CHANCE, EARLY, FROM_ZERO};
use crate::judge::judge;
use crate::stopping::{STOPPING, Stopping};
use crate::value::{Comparison, Direction, Verdict};

#[test]
fn a_margin_is_the_one_asked_for_else_the_workloads_else_the_metrics_else_one_per_cent() {
    let mut case = simple([100.0, 100.0, 97.0], 10);
    let mut margin = |own: Option<f64>, declared: Option<f64>, asked: Option<f64>| {
        let params = &mut case.workload.params;
        params.clear();
        params.extend(own.map(|own| ("margin_pct".to_owned(), own.into())));
        case.metrics.get_mut("time").unwrap().margin_pct = declared;
        judge(&mut case.workload, &case.metrics, &case.order, asked);
        only(&case.workload).margin_pct
    };
    assert_eq!(margin(Some(2.0), Some(3.0), Some(4.0)), 4.0);
    assert_eq!(margin(None, Some(3.0), Some(4.0)), 4.0);
    assert_eq!(margin(Some(2.0), Some(3.0), None), 2.0);
    assert_eq!(margin(Some(2.0), None, None), 2.0);
    assert_eq!(margin(None, Some(3.0), None), 3.0);
    assert_eq!(margin(None, None, None), 1.0);
}

#[test]
fn a_stored_floor_goes_where_the_control_no_longer_gives_one() {
    let stale = |blocks| {
        let mut case = simple([100.0, 100.0, 50.0], blocks);
        let control = case.workload.control.get_mut("time").unwrap();
        (control.floor_pct, control.failed) = (Some(7.0), true);
        case
    };
    // One block says nothing about the noise.
    let one = stale(1).judged();
    let control = &one.control["time"];
    assert_eq!((control.floor_pct, control.failed), (None, false));
    let ten = stale(10).judged();
    assert!(ten.control["time"].floor_pct.unwrap() < 0.2 && !ten.control["time"].failed);
    // Also for a name that is no longer a metric.
    let mut unknown = stale(10);
    unknown.order.clear();
    let unknown = unknown.judged();
    let control = &unknown.control["time"];
    assert_eq!((control.floor_pct, control.failed), (None, false));
}

#[test]
fn a_wanted_width_rules_the_primary_metric_alone() {
    let judged = |rule: Stopping| {
        let samples = [0, 3, 7].map(|places| around(100.0, places, 24));
        let mut case = Case::timed(&samples).sampled("faults", &samples);
        let rule = serde_json::to_value(rule).unwrap();
        case.workload.params.insert(STOPPING.to_owned(), rule);
        case.judged().comparisons
    };
    let width = |one: &Comparison| one.ci95_pct.map(|[low, high]| high - low).unwrap();
    let planned = judged(Stopping::Planned);
    let narrowed = judged(Stopping::Width {
        half_width_pct: 0.1,
    });
    // The pilot's ten blocks have fewer degrees of freedom than all blocks.
    assert!(width(&narrowed[0]) > 1.05 * width(&planned[0]));
    assert_eq!(narrowed[1].ci95_pct, planned[1].ci95_pct);
}

#[test]
fn counts_need_no_control_and_a_trend_is_told_in_per_cent_of_any_level() {
    let counted = simple([100.0; 3], 10).exact("calls", &[15.0, 5.0]).judged();
    assert_eq!(counted.warnings, Vec::<String>::new());
    let samples = [0, 3, 7].map(|places| rising(around(5000.0, places, 10)));
    let drifting = Case::timed(&samples).judged();
    assert!(
        warned(&drifting, "drifted by +8."),
        "{:?}",
        drifting.warnings
    );
}

#[test]
fn a_comparison_says_how_many_blocks_it_needs_and_what_its_per_cent_are_of() {
    let clear = simple([100.0, 100.0, 90.0], 10).judged();
    assert_eq!(only(&clear).n_needed, Some(6));
    let none = vec![Some(0.0); 10];
    let samples = [none.clone(), none, around(5.0, 7, 10)];
    let from_zero = Case::new(&["new"], 10).sampled("faults", &samples).judged();
    let found = only(&from_zero);
    assert_eq!(
        (found.verdict, found.reason.as_deref()),
        (Verdict::Revert, Some(FROM_ZERO))
    );
}

#[test]
fn a_value_that_one_rule_calls_far_out_is_warned_of() {
    // Severe by quartiles, but not by the median deviation, which is large here.
    let mut spread: Vec<Option<f64>> = (1..=9).map(|v| Some(f64::from(v))).collect();
    spread.push(Some(30.0));
    let samples = [around(5.0, 0, 10), around(5.0, 3, 10), spread];
    let workload = Case::timed(&samples).judged();
    assert!(
        warned(&workload, "1 of 10 from new"),
        "{:?}",
        workload.warnings
    );
}

#[test]
fn with_early_looks_a_difference_needs_more_certainty_than_its_direction() {
    let blocks = 20;
    let judged = |errors: f64, rule: Stopping| {
        // Noise of 0.1 in the logarithm, and a mean that many of its standard errors from zero.
        let mean = errors * 0.1 / (blocks as f64 - 1.0).sqrt();
        let noise = |i: usize| if i.is_multiple_of(2) { 0.1 } else { -0.1 };
        let arm = (0..blocks).map(|i| Some(100.0 * f64::exp(noise(i) - mean)));
        let even = vec![Some(100.0); blocks];
        let mut case = Case::timed(&[even.clone(), even, arm.collect()]);
        let rule = serde_json::to_value(rule).unwrap();
        case.workload.params.insert(STOPPING.to_owned(), rule);
        only(&case.judged()).clone()
    };
    let (planned, looks) = (blocks as u32, 10);
    let early = Stopping::Early { planned, looks };
    let narrow = judged(2.8, early);
    assert_eq!(narrow.verdict, Verdict::Inconclusive);
    assert_eq!(narrow.direction, Some(Direction::Better));
    assert_eq!(narrow.reason.as_deref(), Some(CHANCE));
    assert!(narrow.ci_adj_pct.unwrap()[1] < -1.0);
    assert_eq!(judged(2.8, Stopping::Planned).verdict, Verdict::Keep);
    assert_eq!(judged(4.2, early).verdict, Verdict::Keep);
    assert_eq!(judged(-4.2, early).verdict, Verdict::Revert);
}

#[test]
fn an_interval_that_excludes_nothing_is_not_told() {
    let (planned, looks) = (1000, 10);
    // After so few blocks of the plan, the level is 1, or so near it that no number holds an end.
    let early = Stopping::Early { planned, looks };
    for rule in [early, Stopping::Answer { limit_s: 30.0 }] {
        let mut case = simple([100.0, 100.0, 90.0], 10);
        let rule = serde_json::to_value(rule).unwrap();
        case.workload.params.insert(STOPPING.to_owned(), rule);
        let workload = case.judged();
        let found = only(&workload);
        assert_eq!((found.ci_adj_pct, found.level), (None, None));
        let nothing = (Verdict::Inconclusive, None);
        assert_eq!((found.verdict, found.direction), nothing);
        assert_eq!(found.reason.as_deref(), Some(EARLY));
        assert!(found.ci95_pct.unwrap()[1] < -9.0);
    }
}
