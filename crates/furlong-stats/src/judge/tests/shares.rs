//! Metrics that can be zero: shares of the baseline's mean.

use super::{Case, only, simple};
use crate::value::{Verdict, WorkloadResult};

#[test]
fn zeros_are_compared_as_shares_of_the_baselines_mean() {
    let mut case = simple([100.0, 100.0, 90.0], 10);
    case.workload.arms[1].samples.get_mut("time").unwrap()[4] = Some(0.0);
    let workload = case.judged();
    let found = only(&workload);
    assert_eq!(found.scale.as_deref(), Some("difference"));
    assert!(
        (found.effect_pct + 19.0).abs() < 0.1,
        "{}",
        found.effect_pct
    );
}

/// A count that falls nearly to zero, with this value in one block.
fn fallen(once: f64) -> WorkloadResult {
    let some = |values: [f64; 8]| values.map(Some).to_vec();
    let samples = [
        some([10.0, 40.0, 25.0, 15.0, 30.0, 35.0, 20.0, 45.0]),
        some([12.0, 39.0, 24.0, 16.0, 29.0, 37.0, 19.0, 45.0]),
        some([0.0, 0.0, once, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    Case::new(&["new"], 8).sampled("faults", &samples).judged()
}

#[test]
fn an_interval_ends_where_nothing_is_left_and_the_verdict_is_on_all_of_it() {
    for (once, least) in [(2.0, -100.0), (-2.0, f64::NEG_INFINITY)] {
        let workload = fallen(once);
        let found = only(&workload);
        let half = 2.364_624_251_592_785 * found.effect_pct / found.paired.unwrap().t;
        let whole = [found.effect_pct - half, found.effect_pct + half];
        assert!(whole[0] < -120.0, "{whole:?}");
        let [low, high] = found.ci95_pct.unwrap();
        assert!((low - whole[0].max(least)).abs() < 1e-9, "{once}: {low}");
        assert!((high - whole[1]).abs() < 1e-9, "{once}: {high}");
        assert_eq!(found.verdict, Verdict::Keep);
    }
}
