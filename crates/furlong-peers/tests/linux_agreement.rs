//! Linux's structures as arms: each gives the same answers as the library's own arm, and each
//! missing result has a reason.
#![forbid(unsafe_code)]

mod beside;
mod needed;

use beside::experiment as experiment_of;
use furlong_lab::model::Profile;
use furlong_peers::{experiments, linux};
use needed::has_linux;

#[test]
fn every_arm_of_linux_answers_as_the_library_does() {
    if !has_linux("Linux's arms beside the library's") {
        return;
    }
    let mut raced = Vec::new();
    for experiment in experiments() {
        let theirs = linux::arms(&experiment.plan.name);
        raced.extend(beside::raced(
            &experiment,
            &experiment.arms[0],
            &theirs,
            4000,
        ));
    }
    let runs = |arm: &str| raced.iter().filter(|(name, _)| *name == arm).count();
    let maple = ["linux-maple", "linux-maple-mut"].map(runs);
    let iova = ["linux-iova", "linux-iova-tree"].map(runs);
    let rbtree = ["linux-rbtree", "linux-rbtree-bare"].map(runs);
    assert_eq!(
        (maple, iova, rbtree),
        ([30, 25], [13, 6], [5, 5]),
        "{raced:?}"
    );
}

#[test]
fn what_linux_cannot_be_asked_has_a_reason() {
    let why = |experiment: &str, arm: &str, load: &str| {
        let arms = linux::arms(experiment);
        let arm = arms
            .iter()
            .find(|one| one.name == arm)
            .expect("the arm is there");
        let plan = experiment_of(experiment).plan;
        let load = plan.workload(load).expect("the plan has it");
        (arm.na)(&load.under(Profile::Smoke))
    };
    let is = |why: Option<String>, reason: &str| assert_eq!(why.as_deref(), Some(reason));
    let (maple, iova) = ("vmspace-index", "iova-gap");
    is(
        why(maple, "linux-maple", "kernbench"),
        "it is not an address space",
    );
    is(
        why(maple, "linux-maple-mut", "readers-1"),
        "it does not support threads",
    );
    is(
        why(iova, "linux-iova", "scattered-10k"),
        "it chooses the place",
    );
    is(
        why(iova, "linux-iova", "churn-top-down"),
        "it chooses the place",
    );
    is(why(iova, "linux-iova", "random-place"), "no random place");
    let missing = (!linux::is_there()).then(|| linux::MISSING.to_owned());
    for load in ["readers-1", "churn-1k", "gap-none"] {
        assert_eq!(why(maple, "linux-maple", load), missing);
    }
    assert_eq!(why(iova, "linux-iova", "window-32bit"), missing);
}

#[test]
fn a_record_of_linux_s_arms_names_the_library() {
    let files = linux::files();
    assert_eq!(files.is_empty(), !linux::is_there());
    for experiment in experiments() {
        for arm in linux::arms(&experiment.plan.name) {
            assert!(experiment.arm(arm.name).is_some_and(|found| !found.counts));
            let named = (experiment.files)()
                .iter()
                .any(|(name, _)| *name == arm.name);
            assert_eq!(named, linux::is_there(), "{}", arm.name);
        }
    }
}
