//! The command with the peers: every arm runs, and what one cannot do has a reason.
#![forbid(unsafe_code)]

use std::process::{Command, Output};

use furlong_lab::experiments::Profile;
use furlong_lab::record::result::{ResultFile, WorkloadResult};
use furlong_peers::iova::{EXPERIMENT, arms};

fn furlong_peers(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
    command.args(arguments).args(["--db", "none"]);
    command.output().expect("the command is built")
}

/// All workloads of the experiment under the smallest profile.
fn smoke() -> ResultFile {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let json = folder.path().join("result.json");
    let json = json.to_str().expect("the path is text");
    let output = furlong_peers(&[
        "run",
        EXPERIMENT,
        "--profile",
        "smoke",
        "--seed",
        "5",
        "--html",
        "none",
        "--json",
        json,
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("failed"), "{said}");
    let json = std::fs::read_to_string(json).expect("the result is there");
    serde_json::from_str(&json).expect("it is a result")
}

/// Whether an arm can run a workload.
fn is_able(load: &WorkloadResult, arm: &str) -> bool {
    load.arms
        .iter()
        .any(|one| one.name == arm && one.na.is_none())
}

#[test]
fn every_peer_runs_every_workload_that_it_can() {
    let result = smoke();
    let loads = &result.experiments[0].workloads;
    assert!(loads.len() >= 10);
    let peers: Vec<&str> = arms().iter().map(|arm| arm.name).collect();
    for load in loads {
        let names: Vec<&str> = load.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert!(
            names.starts_with(&["scan", "summary"]) && names.ends_with(&peers),
            "{names:?}"
        );
        for arm in load.arms.iter().filter(|arm| arm.na.is_none()) {
            assert!(arm.samples["time_ns_per_op"].iter().all(Option::is_some));
            // Who does not count has no counts, and has not failed either.
            let is_peer = peers.contains(&arm.name.as_str());
            assert_eq!(arm.samples.contains_key("nodes_visited_per_op"), !is_peer);
        }
        let is_loss = |text: &String| text.contains("belong together");
        assert!(!load.warnings.iter().any(is_loss), "{:?}", load.warnings);
    }
    let can = |peer: &str| {
        let asked = [
            "checkerboard-10k",
            "aligned",
            "churn-top-down",
            "scattered-10k",
        ];
        let is_able = |name: &str| {
            let load = loads.iter().find(|load| load.name == name);
            is_able(load.expect("the workload is there"), peer)
        };
        asked.map(is_able)
    };
    assert_eq!(can("offset-allocator"), [true, false, false, false]);
    assert_eq!(can("range-alloc"), [true, true, false, false]);
    assert_eq!(can("vm-allocator"), [true, true, true, false]);
    assert_eq!(can("rangemap"), [true; 4]);
    assert_eq!(can("free-map"), [true; 4]);
}

#[test]
fn a_workload_that_nobody_knows_of_is_left_to_those_that_can_do_all() {
    let experiments = furlong_peers::experiments();
    let experiment = experiments.iter().find(|one| one.plan.name == EXPERIMENT);
    let mut load = experiment.expect("it is there").plan.workloads[0].under(Profile::Full);
    load.name = "unheard-of".to_owned();
    let able = arms().into_iter().filter(|arm| (arm.na)(&load).is_none());
    assert_eq!(
        able.map(|arm| arm.name).collect::<Vec<_>>(),
        ["free-map", "rangemap"]
    );
}

#[test]
fn the_list_has_the_peers_and_the_option_changes_nothing_here() {
    let list = furlong_peers(&["list"]);
    let list = String::from_utf8(list.stdout).expect("a list is text");
    assert!(
        list.contains("free-map, rangemap, range-alloc, vm-allocator"),
        "{list}"
    );
    let with_option = furlong_peers(&["list", "--peers"]);
    assert_eq!(String::from_utf8_lossy(&with_option.stdout), list);
}
