//! One command alone: a benchmark without a comparison.

use std::fs;

use super::place::{only, values};
use crate::lab::{Home, ended, says};

#[test]
fn one_command_is_timed_without_a_control_or_a_verdict() {
    let place = Home::new();
    let run = ["sleep 0.02", "-r", "3", "--json", "r.json", "--quiet"];
    let (text, _) = ended(0, &place.run(&run));
    says(&text, &["sleep 0.02\n", " ± ", " in 3 runs", " user, "]);
    assert!(text.lines().count() <= 12, "{text}");
    let last = "0 comparisons: this is one command; give a second one to compare it with";
    assert_eq!(text.lines().last().map(str::trim), Some(last));
    let result = crate::lab::read(&place.path("r.json"));
    let workload = only(&result);
    assert_eq!(workload.order.concat(), ["sleep 0.02"; 3], "no control");
    assert!(workload.control.is_empty() && workload.comparisons.is_empty());
    assert_eq!(values(&workload.arms[0], "wall_s").len(), 3);

    let schema = serde_json::from_str(furlong_lab::report::json::SCHEMA).unwrap();
    let json = fs::read_to_string(place.path("r.json")).unwrap();
    let json = serde_json::from_str(&json).unwrap();
    jsonschema::validate(&schema, &json).unwrap();
    place.ends(0, &["show", "-q", "--json", "stored.json"]);
    let stored = crate::lab::read(&place.path("stored.json"));
    assert_eq!(only(&stored), workload, "the store has it as it was");
}

#[test]
fn every_report_and_verb_takes_it() {
    let place = Home::new();
    let reports = [
        "--md", "r.md", "--csv", "r.csv", "--html", "r.html", "--junit", "r.xml",
    ];
    let first = place.result(&[&["true", "-r", "2"][..], &reports].concat());
    for (file, wanted) in [
        ("r.md", "nothing was compared"),
        ("r.csv", ",commands,2,1,true,false,wall_s,s,"),
        ("r.html", "No verdict: nothing was compared."),
        ("r.xml", "failures=\"0\""),
    ] {
        let text = fs::read_to_string(place.path(file)).unwrap();
        assert!(text.contains(wanted), "{file}: {text}");
        assert!(
            !text.contains("NaN") && !text.contains("<td>baseline"),
            "{file}"
        );
    }
    place.result(&["true", "-r", "2"]);
    place.ends(0, &["history", "compare"]);
    place.ends(0, &["export", "latest", "-q", "--to", "."]);
    place.ends(0, &["import", "r.json", "--db", "other.db"]);
    place.ends(0, &["diff", &first.run.id, "latest"]);
}

#[test]
fn a_single_command_runs_often_and_long_enough() {
    let place = Home::new();
    let blocks = |arguments: &[&str]| {
        let result = place.result(arguments);
        let times = values(&only(&result).arms[0], "wall_s");
        (times.len(), times.iter().sum::<f64>())
    };
    let (runs, seconds) = blocks(&["sleep 0.1"]);
    assert!(
        runs <= 30 && (3.0..3.5).contains(&seconds),
        "{runs} {seconds}"
    );
    assert_eq!(blocks(&["sleep 0.31"]).0, 10);
    assert_eq!(blocks(&["true", "-M", "4"]).0, 4);
    assert_eq!(blocks(&["sleep 0.3", "-m", "12"]).0, 12);
    for wrong in [&["--early"][..], &["--until", "1"]] {
        let line = place.refuses(&[&["compare", "true"][..], wrong].concat());
        says(&line, &["give a second command"]);
    }
}

#[test]
fn one_value_of_a_parameter_is_one_command() {
    let place = Home::new();
    let result = place.result(&["true {n}", "-L", "n", "1", "-r", "2"]);
    assert_eq!(only(&result).arms[0].name, "n=1");
    assert!(only(&result).comparisons.is_empty());
}

#[test]
fn a_single_command_fails_as_others_do_and_resumes() {
    let place = Home::new();
    let log = "sh -c 'echo x >> log; test $(wc -l < log) != 3'";
    place.fails(1, &[log, "-r", "4"]);
    let (_, talk) = place.ends(0, &["show", "--json", "shown.json"]);
    says(&talk, &["--resume"]);
    let id = crate::lab::read(&place.path("shown.json")).run.id;
    let result = place.result(&["--resume", &id]);
    assert_eq!(only(&result).blocks, [1, 2, 3, 4]);
    assert_eq!(place.lines("log").len(), 5, "nothing was measured twice");
}
