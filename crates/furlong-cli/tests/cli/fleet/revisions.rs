//! Two revisions, a pull request and a search for a commit, measured on nodes of a cluster.

use std::fs;

use super::cluster::Cluster;
use super::stand_in::StandIn;
use super::{only_fleet, parts, same_samples};
use crate::ab_benchmarks::Repository;
use crate::bisect::{SLOW, commit_all, first};
use crate::lab::{ended, read, says, send, words};
use furlong_lab::model::result::Verdict;
use rustix::process::Signal;

/// A search by a figure that repeats exactly.
fn search(good: &str) -> Vec<&str> {
    let how = ["bisect", "--build", "sh ./make", "--on", "slurm"];
    let what = ["--metric", r", (\d+) ms", good, "--json", "r.json"];
    [&how[..], &what[..], &["--", "./work"]].concat()
}

#[test]
fn benchmarks_of_two_revisions_are_compared_on_nodes() {
    let Repository(home) = Repository::new([("old", "400", "1"), ("new", "440", "1")]);
    let slurm = StandIn::over(home);
    let call = "ab main~1 --build ./build --on slurm --blocks 7 --json r.json";
    let stderr = slurm.ends(0, &words(call));
    says(&stderr, &["8 tasks are submitted"]);
    let result = read(&slurm.0.path("r.json"));
    same_samples(&result, &parts(&only_fleet(&slurm.0.path(""))));
    let verdicts = result.experiments[0].workloads.iter().map(|workload| {
        let verdict = workload.comparisons[0].verdict;
        (workload.name.as_str(), verdict)
    });
    let expected = [
        ("sort/a / b/one", Verdict::Equivalent),
        ("sort/a / b/two", Verdict::Revert),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
}

#[test]
fn a_pull_request_is_judged_on_nodes() {
    let Repository(home) = Repository::new([("old", "400", "1"), ("new", "440", "1")]);
    let slurm = StandIn::over(home);
    let call = "ci main~1 HEAD --build ./build --on slurm --budget 6 --bench two --json r.json";
    let mut furlong = slurm.furlong(&words(call));
    let (stdout, _) = ended(3, &furlong.output().unwrap());
    says(&stdout, &["slower: sort/a / b/two, "]);
    let result = read(&slurm.0.path("r.json"));
    let workload = &result.experiments[0].workloads[0];
    // As many as 6 s allow a node, with three samples of 0.1 s each.
    assert_eq!(workload.blocks.len(), 20);
    assert!(!workload.params.contains_key("budget_s"));
}

#[test]
fn a_commit_is_searched_on_nodes_and_a_lost_task_is_tried_again() {
    let slurm = StandIn::new();
    commit_all(&slurm.0, |number| if number < SLOW { 4 } else { 40 });
    let good = first();
    fs::write(slurm.0.path("bin/lost"), "2").unwrap();
    let stderr = slurm.ends(0, &search(&good));
    let lost = stderr.matches("a task gave no blocks, and is tried again");
    assert_eq!(lost.count(), 2, "{stderr}");
    says(&stderr, &["Node failure on n1"]);
    let found: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(slurm.0.path("r.json")).unwrap()).unwrap();
    assert_eq!(found["candidates"][0]["subject"], format!("number-{SLOW}"));
    let tasks = fs::read_to_string(slurm.0.path("bin/srun.log")).unwrap();
    let exclusive = |line: &str| line.starts_with("--nodes=1 --ntasks=1 --exclusive ");
    assert!(tasks.lines().all(exclusive), "{tasks}");
    // A node that never answers ends the search, which tells what to look at.
    fs::write(slurm.0.path("bin/lost"), "1000").unwrap();
    let stderr = slurm.ends(1, &search(&good));
    says(
        &stderr,
        &[
            "srun gives no blocks",
            "Node failure on n1",
            "XDG_CACHE_HOME",
        ],
    );
}

#[test]
fn a_commit_is_searched_on_nodes_of_a_real_cluster() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    commit_all(&cluster.home, |number| if number < SLOW { 4 } else { 40 });
    let good = first();
    let (stdout, _) = cluster.ends(0, &search(&good));
    assert!(
        stdout
            .lines()
            .next()
            .unwrap()
            .ends_with(&format!("number-{SLOW}")),
        "{stdout}"
    );
    assert!(cluster.running().is_empty());
}

#[test]
fn a_search_outlives_a_node_and_leaves_no_task_behind() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let home = &cluster.home;
    home.git("init --quiet --initial-branch main");
    for time in [4, 40] {
        let waits = "#!/bin/sh\nuntil [ -e $HOME/go ]; do sleep 0.05; done\n";
        home.write("work", format!("{waits}echo 'took, {time} ms'\n"));
        home.write("make", "chmod +x work\n");
        home.git("add work make");
        home.git(&format!("commit --quiet --message takes-{time}"));
    }
    let runs = |cluster: &Cluster, but: &str| {
        let running = cluster.running();
        running
            .first()
            .map(|(_, node)| node.clone())
            .filter(|node| node != but)
    };
    let head = cluster.spawn(&search("main~1"));
    cluster.wait_until("a task", |cluster| runs(cluster, "").is_some());
    let node = runs(&cluster, "").unwrap();
    cluster.switch_off(&node);
    cluster.wait_until("a task on another node", |cluster| {
        runs(cluster, &node).is_some()
    });
    cluster.home.write("go", "");
    let (stdout, stderr) = ended(0, &head.wait_with_output().unwrap());
    says(&stderr, &["tried again"]);
    assert!(
        stdout.lines().next().unwrap().ends_with("takes-40"),
        "{stdout}"
    );

    fs::remove_file(cluster.home.path("go")).unwrap();
    let head = cluster.spawn(&search("main~1"));
    cluster.wait_until("a task", |cluster| runs(cluster, "").is_some());
    send(&head, Signal::TERM);
    ended(143, &head.wait_with_output().unwrap());
    cluster.wait_until("no task", |cluster| cluster.running().is_empty());
}

#[test]
fn a_search_refuses_what_needs_a_cluster_without_one() {
    let slurm = StandIn::new();
    commit_all(&slurm.0, |_| 4);
    let good = first();
    let call = ["bisect", &good, "--slurm", "--partition=x", "--", "./work"];
    says(&slurm.ends(2, &call), &["--slurm needs --on slurm"]);
    slurm.program(
        "scontrol",
        "#!/bin/sh\necho 'Slurmctld(primary) at here is DOWN'\nexit 1\n",
    );
    says(&slurm.ends(2, &search(&good)), &["Slurm does not answer"]);
}
