//! The command with the peers: every arm runs, and each missing result has a reason.
#![forbid(unsafe_code)]

use std::process::{Command, Output, Stdio};

use furlong_lab::model::Profile;
use furlong_lab::model::result::{ResultFile, WorkloadResult};
use furlong_peers::iova::{EXPERIMENT, arms};

fn furlong_peers(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
    command.args(arguments).args(["--db", "none"]);
    command.output().expect("the command is built")
}

/// The results of all workloads of the experiment under the smallest profile.
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

/// True if an arm can run a workload.
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
    let experiments = furlong_peers::experiments();
    let experiment = experiments.iter().find(|one| one.plan.name == EXPERIMENT);
    let all = experiment.expect("it is there").arms.iter();
    let peers: Vec<&str> = all.skip(2).map(|arm| arm.name).collect();
    for load in loads {
        let names: Vec<&str> = load.arms.iter().map(|arm| arm.name.as_str()).collect();
        // Arms that cannot run it come last.
        let (able, unable): (Vec<&str>, Vec<&str>) =
            peers.iter().partition(|peer| is_able(load, peer));
        assert_eq!(names, [vec!["scan", "summary"], able, unable].concat());
        for arm in load.arms.iter().filter(|arm| arm.na.is_none()) {
            assert!(arm.samples["time_ns_per_op"].iter().all(Option::is_some));
            // An arm that does not count has no counts, and has not failed either.
            let is_peer = peers.contains(&arm.name.as_str());
            assert_eq!(arm.samples.contains_key("nodes_visited_per_op"), !is_peer);
        }
        let is_loss = |text: &String| text.contains("for the same inputs");
        assert!(!load.warnings.iter().any(is_loss), "{:?}", load.warnings);
    }
    let why = loads
        .iter()
        .flat_map(|load| &load.arms)
        .filter_map(|arm| arm.na.as_deref());
    assert!(
        !why.clone().any(|why| why.contains("requests are unknown")),
        "{:?}",
        why.collect::<Vec<_>>()
    );
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
    assert_eq!(can("buddy-system"), [true, true, false, false]);
    assert_eq!(can("vm-allocator"), [true, true, true, false]);
    assert_eq!(can("rangemap"), [true; 4]);
    assert_eq!(can("free-map"), [true; 4]);
}

#[test]
fn a_workload_that_nobody_knows_of_is_left_to_those_that_can_do_all() {
    let experiments = furlong_peers::experiments();
    let experiment = experiments.iter().find(|one| one.plan.name == EXPERIMENT);
    let mut load = experiment.expect("it is there").plan.workloads[0].under(Profile::Full);
    load.kind = "unheard-of".into();
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
    // The place of line breaks does not matter.
    let words = list.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("free-map, rangemap, range-alloc, vm-allocator"),
        "{list}"
    );
    let with_option = furlong_peers(&["list", "--peers"]);
    assert_eq!(String::from_utf8_lossy(&with_option.stdout), list);
}

/// A run that takes long enough to be interrupted, and its database.
struct Long(tempfile::TempDir);

impl Long {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
        command.args(arguments).current_dir(self.0.path());
        command.args(["--db", "runs.db"]);
        command
    }

    /// The stored result.
    fn shown(&self) -> String {
        let output = self.command(&["show", "--json", "-"]).output();
        String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned()
    }
}

#[test]
fn an_interrupted_run_with_the_peers_says_how_to_go_on_with_them() {
    const BLOCKS: u32 = 200;
    let long = Long(tempfile::tempdir().expect("there is a place for files"));
    let blocks = BLOCKS.to_string();
    let run = ["run", EXPERIMENT, "--profile", "smoke", "--html", "none"];
    let what = ["--arms", "scan,free-map", "--workloads", "checkerboard-100"];
    let mut run = long.command(&[&run[..], &what, &["--blocks", &blocks]].concat());
    let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("it runs");
    let finished = |text: &str| {
        let result = serde_json::from_str::<ResultFile>(text).ok()?;
        let loads = &result.experiments.first()?.workloads;
        Some(loads.first()?.blocks.clone())
    };
    while finished(&long.shown()).is_none_or(|blocks| blocks.is_empty()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("there is `kill`").success());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let how = said.lines().last().expect("it says how to go on");
    let (_, how) = how.split_once("furlong run --peers --resume ").expect(how);
    let id = how.split_whitespace().next().expect("a name");
    let output = long
        .command(&["run", "--peers", "--resume", id, "--html", "none"])
        .output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let blocks = finished(&long.shown()).expect("a result");
    assert_eq!(blocks, (1..=BLOCKS).collect::<Vec<_>>());
}
