//! Tasks that are cancelled, nodes that are switched off, a head process that is killed.

use std::path::Path;

use super::cluster::Cluster;
use super::{only_fleet, parts, same_samples};
use crate::lab::{ended, read, says, words};

/// Six blocks of three runs, none of which ends before [`go`].
const COMPARE: [&str; 10] = [
    "compare",
    "sh -c 'until [ -e go ]; do sleep 0.05; done'",
    "sh -c 'until [ -e go ]; do sleep 0.05; done; true'",
    "--names",
    "a,b",
    "--blocks",
    "6",
    "--on",
    "slurm",
    "--quiet",
];

/// A cluster at work on all three nodes, and the process that waits for it.
fn at_work(cluster: &Cluster, more: &[&str]) -> std::process::Child {
    let head = cluster.spawn(&[&COMPARE[..], more].concat());
    cluster.wait_until("a task on every node", |cluster| {
        cluster.running().len() == 3
    });
    head
}

/// Lets current and future runs end.
fn go(cluster: &Cluster) {
    std::fs::write(cluster.home.path("go"), "").unwrap();
}

fn on<'a>(running: &'a [(String, String)], node: &str) -> &'a str {
    let (task, _) = running.iter().find(|(_, at)| at == node).unwrap();
    task
}

fn number(task: &str) -> u32 {
    task.split_once('_').unwrap().1.parse().unwrap()
}

/// The blocks of a result, which has one workload.
fn blocks(path: &Path) -> Vec<u32> {
    read(path).experiments[0].workloads[0].blocks.clone()
}

#[test]
fn a_cancelled_task_and_one_of_a_dead_node_are_named_and_made_good() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let head = at_work(&cluster, &["--slurm=--no-requeue", "--json", "some.json"]);
    let running = cluster.running();
    let (cancelled, dead) = (on(&running, "n2"), on(&running, "n3"));
    cluster.slurm("scancel", &[cancelled]);
    cluster.switch_off("n3");
    // Its process has ended, too: while a task is completing, it could still finish its block.
    cluster.wait_until("the end of what is cancelled", |cluster| {
        let listed = cluster.slurm("squeue", &["-h", "-r", "-o", "%F_%K"]);
        listed.lines().all(|task| task != cancelled)
    });
    go(&cluster);
    let (_, said) = ended(1, &head.wait_with_output().unwrap());
    says(&said, &["2 of 6 blocks are missing: "]);
    for (task, why) in [(cancelled, "cancelled on n2"), (dead, "node fail on n3")] {
        says(&said, &[&format!("block {} ({why}", number(task))]);
    }
    let fleet = only_fleet(&cluster.home.path(""));
    let some = blocks(&cluster.home.path("some.json"));
    assert_eq!(some.len(), 4);
    assert!(!some.contains(&number(cancelled)) && !some.contains(&number(dead)));
    let first = parts(&fleet);

    cluster.switch_on("n3");
    let collect = format!(
        "collect {} --resubmit --quiet --json all.json",
        fleet.display()
    );
    cluster.ends(0, &words(&collect));
    assert_eq!(blocks(&cluster.home.path("all.json")), [1, 2, 3, 4, 5, 6]);
    let last = parts(&fleet);
    same_samples(&read(&cluster.home.path("all.json")), &last);
    for (step, part) in first.iter().filter(|(_, part)| part.is_whole()) {
        assert!(
            last.contains(&(*step, part.clone())),
            "{step} was measured again"
        );
    }
}

#[test]
fn a_killed_head_and_a_requeued_task_cost_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut head = at_work(&cluster, &[]);
    head.kill().unwrap();
    head.wait().unwrap();
    let task = on(&cluster.running(), "n1").to_owned();
    cluster.slurm("scontrol", &["requeue", &task]);
    cluster.wait_until("the end of what is requeued", |cluster| {
        let listed = cluster.slurm("squeue", &["-h", "-r", "-o", "%F_%K %T"]);
        let completing = format!("{task} COMPLETING");
        listed.lines().all(|line| line != completing)
    });
    let fleet = only_fleet(&cluster.home.path(""));
    let collect = format!("collect {}", fleet.display());
    let (_, said) = cluster.ends(1, &words(&collect));
    says(
        &said,
        &[" tasks are pending or running (--wait waits for them)"],
    );
    go(&cluster);
    cluster.ends(
        0,
        &words(&format!("{collect} --wait --quiet --json all.json")),
    );
    assert_eq!(blocks(&cluster.home.path("all.json")), [1, 2, 3, 4, 5, 6]);
    let parts = parts(&fleet);
    same_samples(&read(&cluster.home.path("all.json")), &parts);
    let restarted = parts
        .iter()
        .flat_map(|(_, part)| &part.stints)
        .find(|one| one.restarts > 0);
    assert_eq!(restarted.unwrap().job.as_ref().unwrap(), &task);
}
