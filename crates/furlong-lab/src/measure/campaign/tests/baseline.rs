//! A workload that the experiment's baseline cannot run.

use super::{good, ran, schedule, timed_and_counted};
use crate::measure::campaign::End;
use crate::record::judged::judged;

#[test]
fn where_the_baseline_cannot_run_the_next_arm_stands_in_for_it() {
    let mut schedule = schedule(timed_and_counted(), 2);
    let why = "at most 32 segments";
    schedule.experiments[0].workloads[1].na = [("a".to_owned(), why.to_owned())].into();
    let (end, seen, ledger) = ran(&schedule, |seen, _| good(seen));
    assert_eq!(end, End::Finished);
    let arms_of = |workload: &str, operations: bool| {
        let of = seen.iter().filter(|one| one.workload == workload);
        let timed = of.filter(|one| !one.exact && (one.seed == 11) == operations);
        timed.map(|one| one.arm.as_str()).collect::<Vec<_>>()
    };
    // Only the calibration uses the run's own seed.
    assert!(arms_of("plain", true).iter().all(|arm| *arm == "a"));
    let calibrated = arms_of("ins", true);
    assert!(!calibrated.is_empty() && calibrated.iter().all(|arm| *arm == "longer"));
    // In each of two blocks, once as an arm and once as the control.
    let sampled = arms_of("ins", false);
    let times = |arm: &str| sampled.iter().filter(|one| **one == arm).count();
    assert_eq!([times("a"), times("longer"), times("other")], [0, 4, 2]);
    let result = judged(ledger.result(), None);
    let workload = &result.experiments[0].workloads[1];
    let names: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["longer", "other", "a"]);
    assert_eq!(workload.arms[2].na.as_deref(), Some(why));
    let compared = workload.comparisons.iter();
    let compared: Vec<_> = compared
        .map(|c| (c.baseline.as_str(), c.arm.as_str()))
        .collect();
    assert!(!compared.is_empty() && compared.iter().all(|pair| *pair == ("longer", "other")));
}
