//! Figures printed by commands, and output that must be equal.

use furlong_lab::model::result::{Better, Verdict};

use super::place::{failed, only, said, values};
use crate::lab::{Home, read, says};

#[test]
fn a_figure_that_commands_print_decides_the_verdict() {
    let place = Home::new();
    let print = |value: &str| format!("sh -c 'echo bw=1; echo bw={value} MiB/s'");
    let commands = [&print("100")[..], &print("125.5")];
    let options = [
        "--metric",
        r"bw=(?<mib_per_s>\S+)",
        "--unit",
        "MiB/s",
        "--better",
        "higher",
    ];
    let blocks = ["--blocks", "6", "--names", "old,new"];
    let result = place.result(&[&commands[..], &options, &blocks].concat());
    let experiment = &result.experiments[0];
    assert_eq!(experiment.metric_order[..2], ["mib_per_s", "wall_s"]);
    let metric = &experiment.metrics["mib_per_s"];
    assert_eq!(
        (metric.unit.as_str(), metric.better),
        ("MiB/s", Better::Higher)
    );
    assert!(metric.primary && !experiment.metrics["wall_s"].primary);
    assert_eq!(values(&only(&result).arms[1], "mib_per_s"), [125.5; 6]);
    let mut comparisons = only(&result).comparisons.iter();
    let decided = comparisons.find(|one| one.metric == "mib_per_s").unwrap();
    assert_eq!(decided.verdict, Verdict::Keep);
    assert!(
        (decided.effect_pct - 25.5).abs() < 1e-9,
        "{}",
        decided.effect_pct
    );
}

#[test]
fn a_figure_on_standard_error_is_found_and_a_second_one_has_its_own_name() {
    let place = Home::new();
    let command = "sh -c 'echo 7 apples; echo 9 pears >&2'";
    let metrics = ["--metric", r"(\d+) pears", "--metric", r"(\d+) apples"];
    let runs = ["--blocks", "2"];
    let result = place.result(&[&[command, command][..], &metrics, &runs].concat());
    let arm = &only(&result).arms[0];
    assert_eq!(values(arm, "value"), [9.0, 9.0]);
    assert_eq!(values(arm, "value_2"), [7.0, 7.0]);
}

#[test]
fn a_figure_that_is_missing_once_loses_that_sample_alone() {
    let place = Home::new();
    let flaky = "sh -c 'echo x >> log; test $(wc -l < log) = 4 || echo t=5'";
    let options = [
        "--metric", r"t=(\d)", "--blocks", "4", "--json", "r.json", "--seed", "1",
    ];
    let output = place.run(&[&[flaky, flaky][..], &options].concat());
    failed(1, &output);
    assert!(
        said(&output).contains(r"no match of --metric `t=(\d)`"),
        "{}",
        said(&output)
    );
    let result = read(&place.path("r.json"));
    let workload = only(&result);
    let arms = workload.arms.iter().map(|arm| &arm.samples["value"]);
    let all: Vec<Option<f64>> = arms
        .chain([&workload.control["value"].samples])
        .flatten()
        .copied()
        .collect();
    assert_eq!(all.iter().filter(|value| value.is_none()).count(), 1);
    assert_eq!(
        all.iter().flatten().filter(|value| **value == 5.0).count(),
        11
    );
}

#[test]
fn commands_that_must_print_the_same_and_do_not_end_the_comparison() {
    let place = Home::new();
    let long = "sh -c 'head -c 300000 /dev/zero'";
    place.result(&[long, long, "--same-output", "--blocks", "2"]);
    let other = "sh -c 'head -c 299999 /dev/zero; echo'";
    let options = ["--same-output", "--blocks", "2", "--names", "a,b"];
    let line = place.fails(1, &[&[long, other][..], &options].concat());
    says(&line, &["the arms disagree"]);
    place.result(&[&[long, other][..], &["--blocks", "2"]].concat());
}

#[test]
fn a_metric_that_cannot_be_looked_for_is_one_line() {
    let place = Home::new();
    for (arguments, wanted) in [
        (
            &["--metric", "bw=("][..],
            "is not a regular expression: unclosed group",
        ),
        (&["--metric", "(?<wall_s>x)"], "wall_s is measured already"),
        (
            &["--metric", "x", "--unit", "s", "--unit", "s"],
            "--unit is given 2 times for 1",
        ),
    ] {
        let line = place.fails(2, &[&["true", "true"], arguments].concat());
        says(&line, &[wanted]);
    }
    place.fails(1, &["echo x", "echo x", "--metric", "x", "--blocks", "3"]);
    assert!(!place.run(&["true", "true", "--unit", "s"]).status.success());
    assert!(
        !place
            .run(&["true", "true", "--metric", "x", "--better", "bigger"])
            .status
            .success()
    );
}

#[test]
fn a_figure_that_is_never_printed_is_reported_once() {
    let place = Home::new();
    let command = "sh -c 'echo nothing'";
    let options = ["--metric", r"t=(\d)", "--blocks", "6", "--names", "old,new"];
    let output = place.run(&[&[command, command][..], &options].concat());
    failed(1, &output);
    let told = said(&output);
    let lines = told.lines();
    let warned = lines.filter(|line| line.contains(r"no match of --metric `t=(\d)`"));
    assert_eq!(warned.count(), 1, "{told}");
}
