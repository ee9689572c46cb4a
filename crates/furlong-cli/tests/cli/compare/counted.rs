//! Counters of commands: the CPU's, the kernel's, and callgrind's caches.

use std::path::Path;

use furlong_lab::measure::launch::pmu::EVENTS;
use furlong_lab::model::result::Kind;

use super::place::{failed, only, said, values};
use crate::lab::{Home, read, says};

#[test]
fn counters_that_are_there_are_metrics_and_the_others_are_named() {
    let place = Home::new();
    let commands = [
        "true",
        "sh -c 'true; /bin/true; /bin/true'",
        "--names",
        "one,three",
    ];
    let options = ["--counters", "hw", "--blocks", "2", "--json", "r.json"];
    let output = place.run(&[&commands[..], &options].concat());
    let missing: Vec<&str> = EVENTS
        .iter()
        .filter(|event| event.missing().is_some())
        .map(|event| event.metric)
        .collect();
    if missing.len() == EVENTS.len() {
        let line = failed(2, &output);
        assert!(
            line.starts_with("--counters hw: nothing can be counted here: "),
            "{line}"
        );
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let result = read(&place.path("r.json"));
    for event in &EVENTS {
        let metrics = &result.experiments[0].metrics;
        if missing.contains(&event.metric) {
            assert!(!metrics.contains_key(event.metric), "never zero");
            assert!(said(&output).contains(&format!("warning: {} is not counted: ", event.metric)));
            continue;
        }
        let [one, three] = [0, 1].map(|arm| values(&only(&result).arms[arm], event.metric));
        if ["hw_instructions", "syscalls"].contains(&event.metric) {
            assert!(one.iter().all(|count| *count > 0.0), "{one:?}");
            assert!(
                three[0] > 1.5 * one[0],
                "{}: {one:?} {three:?}",
                event.metric
            );
        }
    }
}

#[test]
fn a_count_that_fails_is_concluded_too() {
    if !Path::new("/usr/bin/valgrind").exists() {
        return;
    }
    let place = Home::new();
    // The subshell's child kills it, so its count is lost.
    place.write("killed.sh", "(/bin/sh -c 'kill -9 $PPID'; :); exit 0\n");
    let around = ["-p", "mkdir w", "-C", "rmdir w", "-r", "2"];
    let counted = ["sh killed.sh", "true", "--counters", "callgrind"];
    let output = place.run(&[&counted[..], &around].concat());
    says(&said(&output), &["was killed"]);
    assert!(!said(&output).contains("mkdir"), "{}", said(&output));
    assert!(!place.path("w").exists());
}

#[test]
fn simulated_caches_are_exact_metrics_beside_the_instructions() {
    if !Path::new("/usr/bin/valgrind").exists() {
        return;
    }
    let place = Home::new();
    let options = ["--counters", "cachesim", "--blocks", "1", "--names", "a,b"];
    let result = place.result(&[&["true", "true"][..], &options].concat());
    let [first, second] = [0, 1].map(|arm| &only(&result).arms[arm]);
    for metric in ["instructions", "sim_l1_misses", "sim_ll_misses"] {
        assert_eq!(result.experiments[0].metrics[metric].kind, Kind::Exact);
        assert_eq!(values(first, metric), values(second, metric), "{metric}");
        assert!(values(first, metric)[0] > 0.0, "{metric}");
    }
    let one = |metric| values(first, metric)[0];
    assert!(one("sim_ll_misses") <= one("sim_l1_misses"));
    assert!(one("sim_l1_misses") < one("instructions"));
}
