//! The metric that decides.

use std::path::Path;

use furlong_lab::model::result::Verdict;

use super::place::only;
use crate::lab::{Home, ended, says, words};

/// Prints a figure that is better in the second command, and takes longer there.
const COMMANDS: [&str; 6] = [
    "sh -c 'echo t=9'",
    "sh -c 'echo t=5; sleep 0.05'",
    "--metric",
    r"t=(\d)",
    "--blocks",
    "6",
];

#[test]
fn the_primary_metric_decides_the_verdict_and_the_exit_code() {
    let place = Home::new();
    let run =
        |more: &[&str]| place.run(&[&COMMANDS[..], &["-q", "--fail-on", "revert"], more].concat());
    ended(0, &run(&[]));
    let (text, _) = ended(3, &run(&["--primary", "wall_s", "--details"]));
    says(&text, &["Which is faster"]);
    let result = place.result(&[&COMMANDS[..], &["--primary", "maxrss_kib"]].concat());
    let experiment = &result.experiments[0];
    assert_eq!(
        experiment.metric_order[..3],
        ["maxrss_kib", "value", "wall_s"]
    );
    let primary = experiment
        .metrics
        .iter()
        .filter(|(_, metric)| metric.primary);
    let primary: Vec<&String> = primary.map(|(name, _)| name).collect();
    assert_eq!(primary, ["maxrss_kib"]);
}

#[test]
fn an_unknown_metric_is_refused_with_the_known_ones() {
    let place = Home::new();
    let line = place.refuses(&["compare", "true", "true", "--primary", "wal"]);
    says(
        &line,
        &["unknown metric `wal`: did you mean `wall_s`?", "maxrss_kib"],
    );
    let line = place.refuses(&["compare", "true", "true", "--primary", "instructions"]);
    says(&line, &["unknown metric `instructions`"]);
}

#[test]
fn instructions_can_decide_when_they_are_counted() {
    if !Path::new("/usr/bin/valgrind").exists() {
        return;
    }
    let place = Home::new();
    let options = words("--counters callgrind --primary instructions -r 1");
    let result = place.result(&[&["true", "sh -c true"][..], &options[..]].concat());
    let experiment = &result.experiments[0];
    assert_eq!(experiment.metric_order[0], "instructions");
    let mut comparisons = only(&result).comparisons.iter();
    let decided = comparisons.find(|one| one.metric == "instructions");
    assert_eq!(decided.unwrap().verdict, Verdict::Revert);
    let again = place.ends(0, &["show", "-q", "--details"]).0;
    says(&again, &["1 revert"]);
}
