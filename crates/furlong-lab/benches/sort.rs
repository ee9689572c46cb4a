//! Compares two sorts on random numbers, an experiment on your own code: `cargo bench --bench
//! sort`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use furlong_lab::Experiment;
use furlong_lab::model::Workload;
use furlong_stats::random::Random;

fn numbers(random: &mut Random, workload: &Workload) -> Vec<u64> {
    let count = workload.params["numbers"];
    (0..count).map(|_| random.bits()).collect()
}

fn main() -> ExitCode {
    let sort = Experiment::new("sort", "Which sort is faster on random numbers?")
        .with_arm("stable", |run| {
            run.time(numbers, |all| {
                all.sort();
                all[0]
            })
        })
        .with_arm("unstable", |run| {
            run.time(numbers, |all| {
                all.sort_unstable();
                all[0]
            })
        })
        .with_workload("small", &[("numbers", 100)])
        .with_workload("large", &[("numbers", 10_000)]);
    furlong_lab::bench(&[sort])
}
