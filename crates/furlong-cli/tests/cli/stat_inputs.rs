//! `furlong stat` on other tools' output, on pairs, and with another test or baseline.

use std::fs;
use std::process::{Command, Output};

use crate::lab::{Home, ended, says, words};
use serde_json::Value;

fn stat(folder: &Home, args: &[&str]) -> Output {
    let mut command = folder.furlong(&[&["stat"], args].concat());
    command.env_remove("COLUMNS").output().unwrap()
}

/// Files of the same runs: they differ clearly as pairs, but not as independent samples.
fn folder() -> Home {
    let folder = Home::new();
    let old = [100.0, 120.0, 90.0, 130.0, 80.0, 110.0, 95.0, 125.0];
    let noise = [0.2, -0.1, 0.15, 0.0, -0.2, 0.1, -0.05, 0.1];
    let lines = |values: &[f64]| values.iter().map(|v| format!("{v}\n")).collect::<String>();
    let new: Vec<f64> = old.iter().zip(noise).map(|(v, e)| v * 1.02 + e).collect();
    let worse: Vec<f64> = old.iter().map(|v| v * 2.0).collect();
    for (name, text) in [
        ("old", lines(&old)),
        ("new", lines(&new)),
        ("worse", lines(&worse)),
        ("fewer", lines(&old[..7])),
        ("signed", "-1\n2\n-3\n4\n-5\n6\n7\n9\n".to_owned()),
        ("hf.json", hyperfine(&["a", "b"])),
        ("one.json", hyperfine(&["a"])),
        ("cut.json", "{\"results\": [{\"comm".to_owned()),
        (
            "go.txt",
            "arm: x\nBenchmarkA 1 5 ns/op 1 B/op\n".repeat(3)
                + &"arm: y\nBenchmarkA 1 4 ns/op 1 B/op\n".repeat(3),
        ),
        (
            "sample.json",
            r#"{"iters":[1,2,3],"times":[10.0,22.0,27.0]}"#.to_owned(),
        ),
        (
            "perf.csv",
            "5,,faults,1,100.00,,\n0.5,msec,task-clock,1,100.00,,\n".repeat(3),
        ),
        ("once.csv", "5,,faults,1,100.00,,\n".to_owned()),
    ] {
        folder.write(name, text);
    }
    folder
}

fn hyperfine(commands: &[&str]) -> String {
    let result =
        |command: &&str| format!(r#"{{"command": "{command}", "times": [1.0, 1.1, 0.9]}}"#);
    let results: Vec<String> = commands.iter().map(result).collect();
    format!(r#"{{"results": [{}]}}"#, results.join(","))
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&said(&[args, &["--json", "-"]].concat())).unwrap()
}

fn said(args: &[&str]) -> String {
    ended(0, &stat(&folder(), args)).0
}

fn refused(args: &[&str]) -> String {
    let (printed, text) = ended(2, &stat(&folder(), args));
    assert_eq!((printed.len(), text.lines().count()), (0, 1), "{text}");
    text
}

fn names(report: &Value) -> Vec<&str> {
    let sets = report["sets"].as_array().unwrap();
    sets.iter().filter_map(|set| set["name"].as_str()).collect()
}

#[test]
fn pairs_find_what_the_spread_of_the_runs_hides() {
    let unpaired = &json(&["old", "new"])["comparisons"][0];
    assert_eq!(
        (&unpaired["different"], &unpaired["test"]),
        (&false.into(), &"welch".into())
    );
    assert!(unpaired.get("pairs").is_none());
    let paired = &json(&["old", "new", "--test", "paired"])["comparisons"][0];
    assert_eq!(
        (&paired["different"], &paired["test"]),
        (&true.into(), &"paired".into())
    );
    let change = paired["pairs"]["change_pct"].as_f64().unwrap();
    assert!((change - 2.0).abs() < 0.1, "{change}");
    assert_eq!(paired["pairs"]["t_test"]["df"], 7.0);
    assert_eq!(paired["pairs"]["sign_flip_p"], 2.0 / 256.0);
    let text = said(&["-A", "old", "new", "--test", "paired"]);
    says(&text, &[" % more (95 %: 1.9", " by paired"]);
}

#[test]
fn pairs_with_negative_values_are_differences() {
    let paired = &json(&["signed", "old", "--test", "paired"])["comparisons"][0]["pairs"];
    assert_eq!(paired["of_ratios"], false);
    let text = said(&["-A", "signed", "old", "--test", "paired"]);
    says(&text, &["differences of pairs over the base's mean"]);
}

#[test]
fn pairs_without_a_partner_are_refused() {
    let text = refused(&["old", "fewer", "--test", "paired"]);
    says(&text, &["old has 8 values and fewer has 7"]);
}

#[test]
fn the_test_that_decides_is_the_one_that_was_asked_for() {
    for (test, field) in [
        ("welch", "welch"),
        ("student", "student_test"),
        ("mann-whitney", "mann_whitney"),
    ] {
        let report = json(&["old", "new", "worse", "--test", test]);
        let comparisons = report["comparisons"].as_array().unwrap();
        let p: Vec<f64> = comparisons
            .iter()
            .map(|c| c["p"].as_f64().unwrap())
            .collect();
        for (comparison, p) in comparisons.iter().zip(&p) {
            assert_eq!(comparison[field]["p"], *p, "{test}");
        }
        // Holm: twice the lesser p, once the greater.
        assert_eq!(comparisons[1]["p_adjusted"], 2.0 * p[1], "{test}");
        assert_eq!(comparisons[0]["p_adjusted"], p[0], "{test}");
        assert_eq!(comparisons[1]["different"], true, "{test}");
    }
    let text = said(&["-A", "old", "worse", "--test", "mann-whitney"]);
    says(&text, &["by Mann-Whitney"]);
    assert!(said(&["-A", "old", "worse", "--test", "student"]).contains("by Student"));
}

#[test]
fn another_file_can_be_the_baseline() {
    let report = json(&["old", "new", "worse", "--baseline", "worse"]);
    assert_eq!(names(&report), ["worse", "old", "new"]);
    assert!(
        report["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["base"] == "worse")
    );
    let text = refused(&["old", "new", "--baseline", "nw"]);
    says(&text, &["there is no `nw`; did you mean new?"]);
    let within = json(&["hf.json", "--baseline", "b"]);
    assert_eq!(names(&within), ["hf.json: b", "hf.json: a"]);
}

#[test]
fn other_tools_files_are_read_for_what_they_are() {
    assert_eq!(names(&json(&["hf.json"])), ["hf.json: a", "hf.json: b"]);
    assert_eq!(
        names(&json(&["one.json", "hf.json", "--series", "a"])),
        ["one.json", "hf.json"]
    );
    assert_eq!(
        names(&json(&["go.txt"])),
        ["go.txt: A arm:x ns/op", "go.txt: A arm:y ns/op"]
    );
    let samples = json(&["sample.json"]);
    assert_eq!(
        (&samples["sets"][0]["min"], &samples["sets"][0]["max"]),
        (&9.0.into(), &11.0.into())
    );
    let counters = json(&["perf.csv", "--series", "task"]);
    assert_eq!(counters["sets"][0]["mean"], 0.5);
}

#[test]
fn other_tools_files_that_do_not_do_are_one_line() {
    for (args, wanted) in [
        (&["cut.json"][..], "is not JSON"),
        (
            &["old", "hf.json"],
            "holds several series; choose one with --series: `a`, `b`",
        ),
        (
            &["perf.csv"],
            "choose one with --series: `faults`, `task-clock`",
        ),
        (
            &["perf.csv", "--series", "cycles"],
            "has no series `cycles`, but `faults`, `task-clock`",
        ),
        (&["once.csv"], "`faults` has 1 value; at least 3 are needed"),
    ] {
        let text = refused(args);
        assert!(text.contains(wanted), "{args:?}: {text}");
    }
}

#[test]
fn perf_itself_is_read_where_there_is_one() {
    let folder = folder();
    for form in [&["-x,"][..], &["-j"], &[]] {
        let path = folder.path("real");
        let _ = fs::remove_file(&path);
        for _ in 0..3 {
            let mut perf = Command::new("perf");
            perf.args(["stat", "-e", "page-faults:u", "--append", "-o"])
                .arg(&path);
            let output = perf.args(form).args(["--", "true"]).output();
            if !output.is_ok_and(|output| output.status.success()) {
                return;
            }
        }
        let report = stat(&folder, &words("real --series page-faults --json -"));
        let report: Value = serde_json::from_str(&ended(0, &report).0).unwrap();
        let set = &report["sets"][0];
        assert_eq!(set["n"], 3, "{form:?}");
        assert!(set["min"].as_f64().unwrap() > 10.0, "{form:?}");
    }
}
