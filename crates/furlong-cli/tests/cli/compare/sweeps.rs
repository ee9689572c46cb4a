//! Parameters, and commands that run once around a comparison.

use serde_json::json;

use super::place::{failed, only, said};
use crate::lab::{Home, says};

#[test]
fn one_command_with_a_parameter_has_an_arm_a_value() {
    let place = Home::new();
    let command = "sh -c 'echo {n}-{w} >> log'";
    let sweep = ["-P", "n", "1", "2", "-L", "w", "x,y", "--blocks", "2"];
    let result = place.result(&[&[command][..], &sweep].concat());
    let workload = only(&result);
    let arms: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["n=1,w=x", "n=1,w=y", "n=2,w=x", "n=2,w=y"]);
    let ran = workload.order.concat();
    let printed = |arm: &String| match arm.as_str() {
        "control" | "n=1,w=x" => "1-x",
        "n=1,w=y" => "1-y",
        "n=2,w=x" => "2-x",
        _ => "2-y",
    };
    assert_eq!(
        place.lines("log"),
        ran.iter().map(printed).collect::<Vec<_>>()
    );
    let settings = &workload.params["parameters"];
    assert_eq!(settings["n=2,w=y"], json!({"n": "2", "w": "y"}));
}

#[test]
fn several_commands_with_a_parameter_have_a_workload_a_value() {
    let place = Home::new();
    let commands = ["sh -c 'echo a{n} >> log'", "sh -c 'echo b{n} >> log'"];
    let sweep = [
        "-P", "n", "0.5", "1", "-D", "0.5", "--names", "a,b", "--blocks", "2",
    ];
    let result = place.result(&[&commands[..], &sweep].concat());
    let workloads = &result.experiments[0].workloads;
    let names: Vec<&str> = workloads.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["n=0.5", "n=1.0"]);
    let wanted: Vec<String> = workloads
        .iter()
        .flat_map(|one| {
            let value = one.name.trim_start_matches("n=");
            let ran = one.order.concat();
            let arm = |name: String| if name == "b" { "b" } else { "a" };
            ran.into_iter()
                .map(move |name| format!("{}{value}", arm(name)))
        })
        .collect();
    assert_eq!(place.lines("log"), wanted);
    assert!(
        workloads
            .iter()
            .all(|one| one.comparisons.iter().any(|c| c.arm == "b"))
    );
}

#[test]
fn setup_and_cleanup_run_once_around_everything_and_preparation_may_differ() {
    let place = Home::new();
    let commands = ["sh -c 'echo a >> log'", "sh -c 'echo b >> log'"];
    let around = ["--setup", "echo up >> log", "--cleanup", "echo down >> log"];
    let before = [
        "-p",
        "echo pa >> log",
        "-p",
        "echo pb >> log",
        "--blocks",
        "1",
        "-w",
        "1",
    ];
    place.result(&[&commands[..], &around, &before].concat());
    let lines = place.lines("log");
    assert_eq!(lines[..5], ["up", "pa", "a", "pb", "b"]);
    assert_eq!(
        (lines.len(), lines.last().map(String::as_str)),
        (12, Some("down"))
    );
    for pair in lines[1..11].chunks(2) {
        assert_eq!(pair[0], format!("p{}", pair[1]));
    }
}

#[test]
fn every_setting_is_set_up_once_and_cleaned_up_before_the_next() {
    let place = Home::new();
    let commands = [
        "sh -c 'test -e made-{n}'",
        "sh -c 'test -e made-{n}; echo r{n} >> log'",
    ];
    let around = [
        "--setup",
        "echo up{n} >> log; touch made-{n}",
        "--cleanup",
        "rm made-{n}; echo down{n} >> log",
    ];
    let sweep = ["-L", "n", "1,2", "--blocks", "2"];
    place.result(&[&commands[..], &around, &sweep].concat());
    let wanted = ["up1", "r1", "r1", "down1", "up2", "r2", "r2", "down2"];
    assert_eq!(place.lines("log"), wanted);
}

#[test]
fn what_was_set_up_is_cleaned_up_when_a_command_fails() {
    let place = Home::new();
    let around = ["--setup", "touch made", "--cleanup", "rm made"];
    let output = place.run(&[&["true", "sh -c 'test -e made && exit 4'"][..], &around].concat());
    failed(1, &output);
    assert!(!place.path("made").exists());
    let output = place.run(&[
        "true",
        "true",
        "--blocks",
        "1",
        "--cleanup",
        "echo no >&2; exit 5",
    ]);
    assert!(output.status.success(), "the figures are as good as before");
    let text = said(&output);
    says(
        &text,
        &["warning: `--cleanup` failed: exit code 5: no: clean up manually"],
    );
    let line = place.fails(1, &["true", "true", "--setup", "echo no >&2; exit 6"]);
    assert_eq!(line, "`--setup` failed: exit code 6: no");
}

#[test]
fn a_sweep_that_makes_no_sense_is_one_line() {
    let place = Home::new();
    let log = "sh -c 'echo ran >> log'";
    let with = "sh -c 'echo {n} >> log'";
    for (arguments, wanted) in [
        (&[log, log, "-L", "n", "1,2"][..], "no command contains {n}"),
        (&[with, "-P", "n", "2", "1"], "ends before it begins"),
        (
            &[with, "-P", "n", "1", "2", "-L", "n", "3,4"],
            "the parameter n is given twice",
        ),
        (
            &[with, "-P", "n", "1", "2", "-D", "1", "-D", "2"],
            "more steps (-D) than ranges (-P)",
        ),
        (
            &[with, "-L", "n", "1,2", "--names", "a"],
            "--names has 1 name for 2 commands",
        ),
        (
            &[log, log, log, "-p", "a", "-p", "b"],
            "--prepare is given 2 times for 3 commands",
        ),
    ] {
        let line = place.fails(2, arguments);
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
    assert_eq!(place.lines("log"), [""; 0]);
}
