//! Workloads that have only some of the experiment's metrics.

use super::{blank, failed, good, metric, run, schedule};
use crate::measure::campaign::End;
use crate::model::result::Kind;

#[test]
fn a_workload_is_asked_for_its_own_metrics_only() {
    let mut metrics = vec![metric("bandwidth", Kind::Sampled)];
    metrics.extend(super::timed_and_counted());
    let mut schedule = schedule(metrics, 3);
    let own = [vec!["bandwidth"], vec!["time", "calls"]];
    for (scheduled, own) in schedule.experiments[0].workloads.iter_mut().zip(&own) {
        scheduled.workload.metrics = own.iter().map(|name| (*name).to_owned()).collect();
    }
    let mut ledger = blank(&schedule);
    let mut failures = 0;
    let (end, seen) = run(&schedule, &mut ledger, |seen, _| {
        let mut outcome = good(seen)?;
        if seen.workload == "plain" {
            outcome.metrics = [("bandwidth".to_owned(), 9.0)].into();
        } else if seen.arm == "other" && !seen.exact {
            failures += 1;
            return if failures == 2 { Ok(outcome) } else { failed() };
        }
        Ok(outcome)
    });
    assert_eq!(end, End::Finished);
    assert!(
        !seen
            .iter()
            .any(|seen| seen.exact && seen.workload == "plain")
    );
    let experiment = &ledger.result().experiments[0];
    for (workload, own) in experiment.workloads.iter().zip(&own) {
        assert_eq!(workload.blocks.len(), 3);
        for arm in &workload.arms {
            let mut names: Vec<&str> = arm.samples.keys().map(String::as_str).collect();
            names.sort_by_key(|name| own.iter().position(|known| known == name));
            assert_eq!(names, *own, "{}", arm.name);
        }
        let (primary, _) = workload.primary(&experiment.named()).unwrap();
        assert_eq!(primary, own[0]);
        for (name, control) in &workload.control {
            let is_own = name == primary;
            assert_eq!(control.samples.len(), if is_own { 3 } else { 0 }, "{name}");
        }
    }
    // A failed sample is null in exactly the metrics of its workload.
    let failing = &experiment.workloads[1].arms[2].samples["time"];
    assert_eq!(*failing, [None, Some(100.0), None]);
}
