//! The peers as arms of `vmspace-index`: they answer as the library does, and what they cannot do
//! has a reason.
#![forbid(unsafe_code)]

use furlong_lab::experiments::{Arm, Experiment, Outcome, Profile, Request, Workload};
use furlong_peers::vmspace::{EXPERIMENT, arms};

fn experiment() -> Experiment {
    let all = furlong_peers::experiments();
    let found = all.into_iter().find(|one| one.plan.name == EXPERIMENT);
    found.expect("the experiment is there")
}

fn sample(arm: &Arm, load: &Workload) -> Outcome {
    let request = Request {
        workload: load.clone(),
        seed: 17,
        operations: 500,
        exact: false,
    };
    (arm.run)(&request).unwrap_or_else(|failure| panic!("{}: {}", arm.name, failure.0))
}

#[test]
fn every_peer_answers_as_the_library_does() {
    let experiment = experiment();
    let peers = arms();
    let mut raced = 0;
    for load in &experiment.plan.workloads {
        let load = load.under(Profile::Smoke);
        let able: Vec<&Arm> = peers
            .iter()
            .filter(|arm| (arm.na)(&load).is_none())
            .collect();
        if able.is_empty() {
            continue;
        }
        let ours = sample(&experiment.arms[0], &load);
        for arm in able {
            let theirs = sample(arm, &load);
            let both = [ours.digest, theirs.digest];
            assert_eq!(both[0], both[1], "{}: {}", arm.name, load.name);
            raced += 1;
        }
    }
    assert!(raced >= 2 * 20, "{raced}");
}

#[test]
fn what_is_more_than_an_index_is_left_to_the_library() {
    let experiment = experiment();
    for arm in arms() {
        let why = |name: &str| {
            let load = experiment.plan.workload(name).expect("the plan has it");
            (arm.na)(&load.under(Profile::Smoke))
        };
        assert_eq!(
            why("readers-1").as_deref(),
            Some("no readers beside a writer")
        );
        assert_eq!(why("kernbench").as_deref(), Some("it is no address space"));
        assert_eq!(why("gap-high"), None);
    }
}
