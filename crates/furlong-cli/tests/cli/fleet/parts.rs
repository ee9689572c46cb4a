//! Parts that are complete, missing, damaged, or of another fleet.

use std::fs;
use std::path::PathBuf;

use furlong_lab::fleet::step::Step;

use super::stand_in::StandIn;
use super::{parts, same_samples};
use crate::lab::{ended, read, says, words};

/// An experiment with counts and a calibration, and therefore with a preparation step.
const RUN: &str = "run tree-order --workloads plain,ins --profile smoke --on slurm --dir fleet";

/// Commands that take no time.
const COMPARE: &str = "compare true true --names a,b --on slurm --dir fleet";

fn with<'a>(line: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&words(line), more].concat()
}

/// A finished comparison of six blocks.
fn done(slurm: &StandIn) -> PathBuf {
    slurm.ends(0, &with(COMPARE, &["--blocks", "6", "--quiet"]));
    slurm.0.path("fleet")
}

#[test]
fn an_experiment_is_prepared_once_and_its_blocks_are_shared() {
    let slurm = StandIn::new();
    let said = slurm.ends(0, &with(RUN, &["--blocks", "6", "--json", "r.json"]));
    says(&said, &["7 tasks are submitted"]);
    let asked = slurm.asked();
    assert_eq!(asked.len(), 2);
    assert!(
        asked[1].contains("--array=1-6 --dependency=afterok:7"),
        "{}",
        asked[1]
    );
    let result = read(&slurm.0.path("r.json"));
    let parts = parts(&slurm.0.path("fleet"));
    assert_eq!(parts.len(), 7);
    same_samples(&result, &parts);
    let fleet = result.run.machine.fleet.as_ref().unwrap();
    assert_eq!(fleet.nodes.keys().collect::<Vec<_>>(), ["n1", "n2", "n3"]);
    for workload in &result.experiments[0].workloads {
        assert_eq!(workload.blocks, [1, 2, 3, 4, 5, 6]);
        assert_eq!(
            workload.params["blocks_by_node"]["n1"],
            serde_json::json!([3, 6])
        );
        let timed = workload
            .comparisons
            .iter()
            .find(|one| one.ci95_pct.is_some())
            .unwrap();
        let by_node = timed.by_node.as_ref().unwrap();
        let counted: Vec<usize> = by_node.effects.iter().map(|node| node.n).collect();
        assert_eq!(counted, [2, 2, 2]);
    }
    let shown = slurm
        .0
        .ends(0, &["show", "--details", "--json", "again.json"])
        .0;
    // Line breaks depend on the measurements.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    says(&shown, &["3 nodes (n1, n2, n3)", "; on n1 "]);
    assert_eq!(read(&slurm.0.path("again.json")), result);
}

#[test]
fn a_task_that_is_missing_is_named_and_done_when_it_is_submitted_again() {
    let slurm = StandIn::new();
    let mut run = slurm.furlong(&with(COMPARE, &["--blocks", "7"]));
    let run = run.env("STAND_IN_SKIPS", "2 5 6").output().unwrap();
    let (_, said) = ended(1, &run);
    let missing = "3 of 7 blocks are missing: block 2 (Slurm knows no task of it), block 5 (Slurm \
                   knows no task of it), block 6 (Slurm knows no task of it); 4 finished blocks \
                   are stored";
    says(&said, &[missing]);
    let resume = slurm.0.refuses(&["compare", "--resume", &only_run(&slurm)]);
    says(&resume, &["belongs to a fleet: `furlong collect"]);
    let still = slurm.ends(1, &["collect", "fleet", "--json", "some.json"]);
    says(&still, &[missing]);
    let some = read(&slurm.0.path("some.json"));
    assert_eq!(some.experiments[0].workloads[0].blocks, [1, 3, 4, 7]);
    slurm.ends(0, &["collect", "fleet", "--resubmit", "--json", "all.json"]);
    assert!(slurm.asked().last().unwrap().contains("--array=2,5-6 "));
    let all = read(&slurm.0.path("all.json"));
    assert_eq!(
        all.experiments[0].workloads[0].blocks,
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(all.run.id, some.run.id);
    same_samples(&all, &parts(&slurm.0.path("fleet")));
    // With all parts present, Slurm is not even called.
    slurm.program(
        "squeue",
        "#!/bin/sh\necho 'squeue: error: gone' >&2\nexit 1\n",
    );
    let said = slurm.ends(0, &["collect", "fleet", "--json", "last.json"]);
    assert!(!said.contains("does not answer"), "{said}");
    assert_eq!(
        read(&slurm.0.path("last.json")).experiments,
        all.experiments
    );
}

fn only_run(slurm: &StandIn) -> String {
    let order = fs::read_to_string(slurm.0.path("fleet/order.json")).unwrap();
    let order: serde_json::Value = serde_json::from_str(&order).unwrap();
    order["run"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn parts_that_are_empty_cut_off_copied_or_of_another_run_are_named_and_measured_again() {
    let slurm = StandIn::new();
    let fleet = done(&slurm);
    let part = |number: u32| fleet.join(format!("parts/block-{number}.json"));
    let original = |number| fs::read(part(number)).unwrap();
    let (first, third) = (original(1), original(3));
    fs::write(part(2), "").unwrap();
    fs::write(part(3), &third[..third.len() - 40]).unwrap();
    fs::write(part(4), &first).unwrap();
    let other = String::from_utf8(original(5)).unwrap();
    fs::write(part(5), other.replace(&only_run(&slurm), "another0")).unwrap();
    fs::write(
        part(6),
        original(6).iter().map(|byte| byte ^ 1).collect::<Vec<u8>>(),
    )
    .unwrap();
    fs::write(fleet.join("parts/block-9.json"), &first).unwrap();

    let collect = ["collect", "fleet", "--db", "none", "--json", "some.json"];
    let said = slurm.ends(1, &collect);
    let wanted = [
        "5 of 6 blocks are missing",
        "block-2.json is empty)",
        "block-3.json is cut off)",
        "block-4.json is a copy of the part of block 1)",
        "block-5.json is of run another0)",
        "block-6.json is damaged (",
        "block-9.json is not a part of this run: it is left out",
    ];
    says(&said, &wanted);
    let some = read(&slurm.0.path("some.json"));
    assert_eq!(some.experiments[0].workloads[0].blocks, [1]);

    slurm.ends(
        0,
        &words("collect fleet --db none --resubmit --json all.json"),
    );
    assert!(slurm.asked().last().unwrap().contains("--array=2-6 "));
    assert_eq!(original(1), first, "what was good was not measured again");
    let aside = fs::read(fleet.join("parts/block-3.json.aside-1")).unwrap();
    assert_eq!(
        aside,
        &third[..third.len() - 40],
        "what was damaged is kept"
    );
    says(&slurm.tasks(), &["block-3.json is cut off: it is kept as"]);
    same_samples(&read(&slurm.0.path("all.json")), &parts(&fleet));
}

#[test]
fn what_the_record_has_outlives_its_part() {
    let slurm = StandIn::new();
    let fleet = done(&slurm);
    slurm.ends(0, &["collect", "fleet", "--json", "before.json"]);
    fs::remove_file(fleet.join("parts/block-4.json")).unwrap();
    slurm.ends(0, &["collect", "fleet", "--json", "after.json"]);
    let [before, after] = ["before.json", "after.json"].map(|name| read(&slurm.0.path(name)));
    assert_eq!(before.experiments, after.experiments);
}

#[test]
fn a_task_that_begins_again_measures_only_what_is_not_done() {
    let slurm = StandIn::new();
    slurm.ends(0, &with(RUN, &["--blocks", "2", "--quiet"]));
    let fleet = slurm.0.path("fleet");
    let path = fleet.join("parts/block-2.json");
    // As left by a task that is killed between its two workloads.
    let mut part: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    part["stints"][0]["end"] = serde_json::Value::Null;
    let lines = part["stints"][0]["lines"].as_array_mut().unwrap();
    let is_block = |line: &serde_json::Value| line["what"] == "block";
    let last = lines.iter().rposition(is_block).unwrap();
    lines.truncate(last);
    let kept = lines.iter().find(|line| is_block(line)).unwrap().clone();
    fs::write(&path, part.to_string()).unwrap();

    let program = fleet.join("furlong");
    let again = || {
        let mut task = slurm.0.command(&program);
        task.args(["task", "fleet", "--block", "2"])
            .env("SLURMD_NODENAME", "n9")
            .env("SLURM_RESTART_COUNT", "1");
        ended(0, &task.output().unwrap());
    };
    again();
    let (_, part) = parts(&fleet)
        .into_iter()
        .find(|(step, _)| *step == Step::Block(2))
        .unwrap();
    assert_eq!(part.stints.len(), 2);
    let blocks = |stint: usize| {
        let lines = part.stints[stint]
            .lines
            .iter()
            .map(|line| serde_json::json!(line));
        lines.filter(is_block).collect::<Vec<_>>()
    };
    assert_eq!(blocks(0), std::slice::from_ref(&kept));
    assert_eq!(blocks(1).len(), 1);
    assert_ne!(blocks(1)[0]["place"], kept["place"]);
    assert_eq!(
        (part.stints[1].node.as_str(), part.stints[1].restarts),
        ("n9", 1)
    );
    // A complete part is not changed.
    let before = fs::read(&path).unwrap();
    again();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_block_waits_for_the_preparation_and_says_so() {
    let slurm = StandIn::new();
    slurm.ends(0, &with(RUN, &["--blocks", "1", "--quiet"]));
    let fleet = slurm.0.path("fleet");
    for name in ["prepare", "block-1"] {
        fs::remove_file(fleet.join(format!("parts/{name}.json"))).unwrap();
    }
    let mut task = slurm.0.command(fleet.join("furlong"));
    task.args(["task", "fleet", "--block", "1"]);
    let (_, said) = ended(1, &task.output().unwrap());
    says(
        &said,
        &["block 1 needs the preparation, which is not complete"],
    );
}

#[test]
fn a_command_that_fails_on_its_node_is_told_with_its_words() {
    let slurm = StandIn::new();
    let compare = ["compare", "true", "sh -c 'exit 3'"];
    let fleet = words("--blocks 2 --on slurm --dir fleet");
    let said = slurm.ends(1, &[&compare[..], &fleet].concat());
    says(&said, &["2 of 2 blocks are missing: block 1 ("]);
    assert!(
        said.contains("exit code 3") || said.contains("code 3"),
        "{said}"
    );
}
