//! Workloads with only some of the metrics, and with their own margin.

use super::{Case, steady};
use crate::value::{ExperimentResult, Kind, Verdict};

#[test]
fn a_workload_is_decided_by_the_first_metric_that_it_has_within_its_own_margin() {
    let mut case = Case::new(&["new"], 10);
    case.declare("bandwidth", Kind::Sampled);
    let samples = steady(&[(96.0, 7)]);
    let mut case = case.exact("calls", &[2.0, 3.0]).sampled("time", &samples);
    let params = &mut case.workload.params;
    params.insert("margin_pct".to_owned(), 5.into());
    let workload = case.judged();
    let found = |name: &str| {
        workload
            .comparisons
            .iter()
            .find(|one| one.metric == name)
            .unwrap()
    };
    assert_eq!(
        (found("time").verdict, found("time").margin_pct),
        (Verdict::Equivalent, 5.0)
    );
    // Counts keep their own margin.
    assert_eq!(found("calls").margin_pct, 1.0);
}

/// The name of the deciding metric, if `time` is sampled and the first has this kind and no value.
fn deciding(first: Kind, counted: &[f64]) -> String {
    let mut case = Case::new(&["new"], 10);
    case.declare("first", first);
    let samples = steady(&[(100.0, 7)]);
    let case = match counted {
        [] => case.sampled("time", &samples),
        values => case.exact("calls", values),
    };
    case.deciding().to_owned()
}

#[test]
fn what_is_sampled_stands_in_for_a_count_and_a_count_for_nothing_that_is_sampled() {
    assert_eq!(deciding(Kind::Exact, &[]), "time");
    assert_eq!(deciding(Kind::Sampled, &[]), "time");
    assert_eq!(deciding(Kind::Exact, &[2.0, 3.0]), "calls");
    assert_eq!(deciding(Kind::Sampled, &[2.0, 3.0]), "first");
}

#[test]
fn a_metric_is_the_one_asked_for_or_the_one_that_decides() {
    let samples = steady(&[(100.0, 7)]);
    let mut case = Case::new(&["new"], 10);
    case.declare("bandwidth", Kind::Sampled);
    let case = case.sampled("time", &samples);
    let experiment = ExperimentResult {
        name: "any".to_owned(),
        metrics: case.metrics,
        metric_order: case.order,
        ..ExperimentResult::default()
    };
    let wanted = |name| {
        let found = experiment.wanted(name, &case.workload);
        found.map(|(name, _)| name)
    };
    assert_eq!(wanted(Some("bandwidth")), Some("bandwidth"));
    assert_eq!(wanted(None), Some("time"));
    assert_eq!(wanted(Some("other")), None);
}

#[test]
fn verdicts_are_counted_in_their_order_without_those_that_nothing_has() {
    let all = [Verdict::Revert, Verdict::Keep, Verdict::Revert];
    let counted = [(Verdict::Keep, 1), (Verdict::Revert, 2)];
    assert_eq!(Verdict::tally(&all), counted);
    assert_eq!(Verdict::tally(&[]), []);
}
