//! Allocators that are built here: each serves the program that it is preloaded into, and keeps the
//! program's data intact.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use furlong_lab::model::{Experiment, Profile, Request};
use furlong_peers::malloc::{EXPERIMENT, arms, libraries};

fn experiment() -> Experiment {
    let all = furlong_peers::experiments();
    let found = all.into_iter().find(|one| one.plan.name == EXPERIMENT);
    found.expect("the experiment is there")
}

/// Runs these workloads with every arm. Each must end with the C library's digest. The programs
/// also fail if the contents of a block have changed when they free it.
fn all_answer_as_the_c_library_does(workloads: &[&str], operations: u64) {
    let experiment = experiment();
    let glibc = experiment.arms.iter().find(|arm| arm.name == "glibc");
    let glibc = glibc.expect("it is there");
    assert!(!arms().is_empty());
    for name in workloads {
        let load = experiment.plan.workload(name).expect("it is there");
        let request = Request {
            workload: load.under(Profile::Smoke),
            seed: 1,
            operations,
            exact: false,
        };
        // A real program may not be installed here.
        if (glibc.na)(&request.workload).is_some() {
            continue;
        }
        let right = (glibc.run)(&request).expect("it serves");
        for arm in arms() {
            if !libraries().any(|(name, _)| name == arm.name) {
                // The user's own libraries may be there, and are no concern of this project's.
                let remedies = ["--features", "FURLONG_MALLOC_LIBRARIES"];
                let told = |why: &String| remedies.iter().any(|remedy| why.contains(remedy));
                let why = (arm.na)(&request.workload);
                assert!(why.as_ref().is_none_or(told), "{why:?}");
                continue;
            }
            assert_eq!((arm.na)(&request.workload), None, "{name}: {}", arm.name);
            // The run fails if a library other than the preloaded one serves.
            let done = (arm.run)(&request);
            let done = done.unwrap_or_else(|failure| panic!("{name}, {}: {}", arm.name, failure.0));
            assert_eq!(done.digest, right.digest, "{name}: {}", arm.name);
            assert!(done.metrics["peak_rss_kib"] > 0.0);
        }
    }
}

#[test]
fn every_allocator_that_is_built_here_keeps_what_threads_write() {
    let workloads = [
        "random-256",
        "random-256-2t",
        "mstress-2t",
        "xmalloc-2t",
        "cfrac",
        "alloc-test-2t",
    ];
    all_answer_as_the_c_library_does(&workloads, 10_000);
}

#[test]
fn every_allocator_that_is_built_here_serves_real_programs() {
    // Objects of all sizes, and processes that fork.
    all_answer_as_the_c_library_does(&["python3-malloc", "sqlite3", "gcc", "git"], 1);
}
