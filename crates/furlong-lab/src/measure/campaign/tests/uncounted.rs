//! Arms that do not count the exact metrics.

use super::{good, ran, schedule, timed_and_counted};
use crate::measure::campaign::End;

#[test]
fn an_arm_that_does_not_count_is_timed_and_never_asked_to() {
    for differs in [false, true] {
        let mut schedule = schedule(timed_and_counted(), 3);
        schedule.experiments[0].uncounted = vec!["other".to_owned()];
        let (end, seen, ledger) = ran(&schedule, |seen, place| {
            let mut outcome = good(seen)?;
            if !seen.exact {
                outcome.metrics.remove("calls");
            } else if differs {
                outcome.metrics.insert("calls".to_owned(), place as f64);
            }
            Ok(outcome)
        });
        assert_eq!(end, End::Finished);
        assert!(!seen.iter().any(|seen| seen.exact && seen.arm == "other"));
        assert_eq!(ledger.result().run.warnings.len(), usize::from(differs));
        for workload in &ledger.result().experiments[0].workloads {
            assert!(!workload.arms[2].samples.contains_key("calls"));
            assert_eq!(workload.arms[2].samples["time"], [Some(100.0); 3]);
            assert!(
                workload.arms[1].samples["calls"]
                    .iter()
                    .all(Option::is_some)
            );
            assert!(workload.warnings.is_empty(), "{:?}", workload.warnings);
        }
    }
}
