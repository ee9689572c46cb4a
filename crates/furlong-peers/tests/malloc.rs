//! Allocators that are built here: each is what serves the program that it is preloaded into.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use furlong_lab::experiments::{Profile, Request};
use furlong_peers::malloc::{EXPERIMENT, arms};

#[test]
fn every_allocator_that_is_built_here_does_a_workload() {
    let experiments = furlong_peers::experiments();
    let experiment = experiments.iter().find(|one| one.plan.name == EXPERIMENT);
    let plan = &experiment.expect("it is there").plan;
    let load = plan.workloads.iter().find(|load| load.name == "random-256");
    let request = Request {
        workload: load.expect("it is there").under(Profile::Smoke),
        seed: 1,
        operations: 10_000,
        exact: false,
    };
    let glibc = experiment.and_then(|one| one.arms.iter().find(|arm| arm.name == "glibc"));
    let right = (glibc.expect("it is there").run)(&request).expect("it serves");
    assert!(!arms().is_empty());
    for arm in arms() {
        assert_eq!((arm.na)(&request.workload), None, "{}", arm.name);
        // Another library than the one that was preloaded would be a failure.
        let done = (arm.run)(&request).unwrap_or_else(|failure| panic!("{}", failure.0));
        assert_eq!(done.digest, right.digest, "{}", arm.name);
        assert!(done.metrics["peak_rss_kib"] > 0.0);
    }
}
