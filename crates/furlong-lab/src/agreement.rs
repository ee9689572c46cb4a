//! Assertions about whole samples that hold for every experiment.

use std::collections::BTreeMap;

use crate::model::{Experiment, Outcome, Workload};

/// The outcomes of the arms that can run a workload, by its name.
pub type Samples = BTreeMap<String, Vec<Outcome>>;

/// Samples the chosen workloads on every arm that can run them.
fn samples(
    experiment: &Experiment,
    chosen: fn(&Workload) -> bool,
    operations: u64,
    exact: bool,
) -> Samples {
    let workloads = experiment.plan.workloads.iter();
    let loads = workloads.filter(|load| chosen(load)).map(|load| {
        let request = experiment.request(&load.name, operations, exact);
        let arms = experiment.arms.iter();
        let able = arms.filter(|arm| (arm.na)(&request.workload).is_none());
        let outcomes = able.map(|arm| (arm.run)(&request).unwrap()).collect();
        (load.name.clone(), outcomes)
    });
    loads.collect()
}

/// Asserts that all arms give the same answers to every workload. Returns the samples.
pub fn arms_agree(experiment: &Experiment, operations: u64) -> Samples {
    let samples = samples(experiment, |_| true, operations, false);
    for (load, outcomes) in &samples {
        assert!(outcomes.len() >= 2, "{load}");
        for outcome in outcomes {
            assert_eq!(outcome.digest, outcomes[0].digest, "{load}");
            assert_eq!(outcome.operations, outcomes[0].operations, "{load}");
        }
    }
    samples
}

/// Asserts that the exact samples of the chosen workloads are the same every time, but for the
/// elapsed time, which is no count. Returns the samples.
pub fn counts_repeat(
    experiment: &Experiment,
    chosen: fn(&Workload) -> bool,
    operations: u64,
) -> Samples {
    let counted = || {
        let mut samples = samples(experiment, chosen, operations, true);
        let outcomes = samples.values_mut().flatten();
        outcomes.for_each(|outcome| outcome.elapsed_s = 0.0);
        samples
    };
    let samples = counted();
    assert_eq!(samples, counted());
    samples
}
