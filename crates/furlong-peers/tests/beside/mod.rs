//! Peers beside the library's own arms.
#![forbid(unsafe_code)]

use furlong_lab::model::{Arm, Experiment, Outcome, Profile, Request, Workload};

/// Returns an experiment, with the peers among its arms.
pub(crate) fn experiment(name: &str) -> Experiment {
    let all = furlong_peers::experiments();
    let found = all.into_iter().find(|one| one.plan.name == name);
    found.expect("the experiment is there")
}

/// Runs a sample of an arm.
pub(crate) fn sample(arm: &Arm, load: &Workload, operations: u64) -> Outcome {
    let request = Request {
        workload: load.clone(),
        seed: 17,
        operations,
        exact: false,
    };
    let sampled = (arm.run)(&request);
    sampled.unwrap_or_else(|failure| panic!("{}, {}: {}", arm.name, load.name, failure.0))
}

/// Runs each peer beside one of the library's arms, and compares their answers. Returns the pairs
/// of a peer and a workload.
pub(crate) fn raced(
    experiment: &Experiment,
    ours: &Arm,
    peers: &[Arm],
    operations: u64,
) -> Vec<(&'static str, String)> {
    let mut raced = Vec::new();
    for load in &experiment.plan.workloads {
        let load = load.under(Profile::Smoke);
        let able = peers.iter().filter(|arm| (arm.na)(&load).is_none());
        let able: Vec<&Arm> = able.collect();
        if able.is_empty() {
            continue;
        }
        let ours = sample(ours, &load, operations);
        for arm in able {
            let theirs = sample(arm, &load, operations);
            assert_eq!(theirs.digest, ours.digest, "{}: {}", arm.name, load.name);
            let metrics = [&theirs, &ours].map(|sample| sample.metrics.keys().collect::<Vec<_>>());
            assert_eq!(metrics[0], metrics[1], "{}: {}", arm.name, load.name);
            raced.push((arm.name, load.name.clone()));
        }
    }
    raced
}
