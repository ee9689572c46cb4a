//! `furlong compare` from outside: the command, its exit codes, its messages and its record.

mod answer;
mod counted;
mod duet;
mod exports;
mod filed;
mod formats;
mod habits;
mod place;
mod primary;
mod printed;
mod refusals;
mod resumption;
mod single;
mod stopping;
mod sweeps;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use furlong_lab::model::result::{Kind, ResultFile};

use self::place::{only, said, values};
use crate::lab::{Home, says, words};

#[test]
fn every_command_and_the_control_run_once_in_every_block() {
    let place = Home::new();
    let log = |name| format!("sh -c 'echo {name} >> log'");
    let (one, two, three) = (log("one"), log("two"), log("three"));
    let names = ["--names", "one,two,three", "--blocks", "4", "--seed", "5"];
    let result = place.result(&[&names[..], &[&one, &two, &three]].concat());
    let experiment = &result.experiments[0];
    assert_eq!(
        (experiment.name.as_str(), experiment.workloads.len()),
        ("compare", 1)
    );
    let workload = only(&result);
    assert_eq!(
        (workload.name.as_str(), &workload.blocks[..]),
        ("commands", &[1, 2, 3, 4][..])
    );
    let arms: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["one", "two", "three"]);
    let ran: Vec<String> = workload.order.concat();
    let logged = ran
        .iter()
        .map(|arm| if arm == "control" { "one" } else { arm });
    assert_eq!(
        place.lines("log"),
        logged.collect::<Vec<_>>(),
        "in the order of the record"
    );
    for order in &workload.order {
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(sorted, ["control", "one", "three", "two"]);
    }
    assert!(
        workload
            .order
            .iter()
            .any(|order| *order != workload.order[0]),
        "shuffled anew"
    );
    for metric in &experiment.metric_order {
        assert!(
            workload
                .arms
                .iter()
                .all(|arm| values(arm, metric).len() == 4),
            "{metric}"
        );
        assert_eq!(workload.control[metric].samples.len(), 4, "{metric}");
    }
    assert_eq!(experiment.metric_order[0], "wall_s");
    assert_eq!(
        workload.comparisons.len(),
        2 * experiment.metric_order.len()
    );
}

#[test]
fn a_result_holds_what_the_commands_took() {
    let place = Home::new();
    let result = place.result(&["true", "sleep 0.1", "--blocks", "2"]);
    let arms = &only(&result).arms;
    assert!(values(&arms[1], "wall_s").iter().all(|wall| *wall >= 0.1));
    let rss = values(&arms[0], "maxrss_kib");
    assert!(
        rss.iter().all(|kib| (100.0..10_000.0).contains(kib)),
        "{rss:?}"
    );
    assert!(
        values(&arms[0], "minor_faults")
            .iter()
            .all(|faults| *faults > 10.0)
    );
}

#[test]
fn the_result_is_valid_by_the_schema_that_is_shipped() {
    let place = Home::new();
    place.result(&["true", "false", "--ignore-failure", "--blocks", "2"]);
    let schema = serde_json::from_str(furlong_lab::report::json::SCHEMA).unwrap();
    let text = fs::read_to_string(place.path("r.json")).unwrap();
    let result = serde_json::from_str(&text).unwrap();
    jsonschema::validate(&schema, &result).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_orders_and_another_seed_others() {
    let place = Home::new();
    let orders = |seed| {
        let options = [
            "a",
            "b",
            "--shell",
            "--ignore-failure",
            "--blocks",
            "6",
            "--seed",
            seed,
        ];
        only(&place.result(&options)).order.clone()
    };
    assert_eq!(orders("7"), orders("7"));
    assert_ne!(orders("7"), orders("8"));
}

#[test]
fn the_environment_is_as_long_for_all_of_a_block_and_another_in_the_next() {
    let place = Home::new();
    let command = "sh -c 'echo ${#FURLONG_PAD} >> log'";
    place.result(&[
        command,
        command,
        "--names",
        "a,a-much-longer-name",
        "--blocks",
        "8",
    ]);
    let lines = place.lines("log");
    let blocks: Vec<&[String]> = lines.chunks(3).collect();
    assert_eq!(blocks.len(), 8);
    assert!(
        blocks
            .iter()
            .all(|block| block.iter().all(|length| *length == block[0])),
        "{lines:?}"
    );
    assert!(
        blocks.iter().any(|block| block[0] != blocks[0][0]),
        "{lines:?}"
    );
}

#[test]
fn preparation_runs_before_every_sample_and_warm_up_before_the_first() {
    let place = Home::new();
    let commands = [
        "sh -c 'echo a >> log'",
        "sh -c 'echo b >> log'",
        "--blocks",
        "2",
    ];
    let options = ["--prepare", "echo p >> log", "--warmup", "2"];
    place.result(&[&commands[..], &options].concat());
    let lines = place.lines("log");
    assert_eq!(lines[..8], ["p", "a", "p", "a", "p", "b", "p", "b"]);
    assert_eq!(lines.len(), 2 * (4 + 2 * 3));
    assert!(
        lines.chunks(2).all(|pair| pair[0] == "p" && pair[1] != "p"),
        "{lines:?}"
    );
}

#[test]
fn names_come_from_the_commands_and_are_there_once() {
    let place = Home::new();
    let long = format!("true {}", "x".repeat(100));
    let result = place.result(&["true", "  true", &long, &long, "--blocks", "1"]);
    let names: Vec<&str> = only(&result)
        .arms
        .iter()
        .map(|arm| arm.name.as_str())
        .collect();
    assert_eq!(names[..2], ["true", "true (2)"]);
    assert!(
        names[2].starts_with("true xxx") && names[2].ends_with('…'),
        "{names:?}"
    );
    assert_eq!(names[3], format!("{} (2)", names[2]));
    assert!(result.experiments[0].question.contains(&long));
}

#[test]
fn what_a_command_prints_is_nobodys_data() {
    let place = Home::new();
    let loud = "sh -c 'head -c 5m /dev/zero; head -c 5m /dev/zero >&2'";
    let output = place.run(&[loud, "true", "--blocks", "2", "--json", "-"]);
    assert!(output.status.success());
    let result: ResultFile = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(only(&result).blocks, [1, 2]);
    assert!(
        output.stderr.len() < 100_000,
        "{} bytes of talk",
        output.stderr.len()
    );
}

#[test]
fn a_shell_that_nobody_asked_for_is_said_and_is_for_all() {
    let place = Home::new();
    let output = place.run(&["true | cat", "true", "--blocks", "1", "--json", "r.json"]);
    assert!(output.status.success());
    let text = said(&output);
    says(
        &text,
        &["all commands run through sh, because `true | cat`"],
    );
    // The other command can then use shell syntax, too.
    place.result(&["true | cat", "exit 0", "--shell", "--blocks", "1"]);
}

#[test]
fn a_process_left_running_is_a_warning_in_the_record() {
    let place = Home::new();
    let result = place.result(&[
        "true",
        "sh -c 'sleep 2 &'",
        "--names",
        "a,b",
        "--blocks",
        "2",
    ]);
    let warnings = &only(&result).warnings;
    let leaves = |text: &&String| text.contains("`b` leaves processes running");
    assert_eq!(warnings.iter().filter(leaves).count(), 1, "{warnings:?}");
}

#[test]
fn instructions_are_an_exact_metric_of_every_command() {
    if !Path::new("/usr/bin/valgrind").exists() {
        return;
    }
    let place = Home::new();
    let options = words("--counters callgrind --names a,b,c --blocks 1");
    let result = place.result(&[&["true", "true", "sh -c true"][..], &options[..]].concat());
    assert_eq!(
        result.experiments[0].metrics["instructions"].kind,
        Kind::Exact
    );
    let counts: BTreeMap<&str, Vec<f64>> = only(&result)
        .arms
        .iter()
        .map(|arm| (arm.name.as_str(), values(arm, "instructions")))
        .collect();
    assert_eq!(counts["a"].len(), 1);
    assert_eq!(counts["a"], counts["b"]);
    assert!(counts["c"][0] > counts["a"][0], "{counts:?}");
}
