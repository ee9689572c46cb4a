//! Exports in hyperfine's formats: fields, columns, units and order.

use std::fs;

use serde_json::{Map, Value, json};

use super::place::{only, said, values};
use crate::lab::{Home, ended, says, words};

/// The exported commands in a file.
fn exported(place: &Home, name: &str) -> Vec<Map<String, Value>> {
    let text = fs::read_to_string(place.path(name)).unwrap();
    let json: Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(json.keys().collect::<Vec<_>>(), ["results"]);
    let results = json["results"].as_array().unwrap();
    let objects = results.iter().map(|one| one.as_object().unwrap());
    objects.cloned().collect()
}

#[test]
fn the_json_has_every_field_with_the_figures_of_the_record() {
    let place = Home::new();
    let long = format!("true {{n}} {}", "x".repeat(60));
    let sweep = ["-L", "n", "1,2", "--blocks", "3", "--export-json", "h.json"];
    let result = place.result(&[&[&long[..]][..], &sweep].concat());
    let all = exported(&place, "h.json");
    assert_eq!(all.len(), 2);
    for (n, (one, arm)) in all.iter().zip(&only(&result).arms).enumerate() {
        let (wall, user) = (&arm.summary["wall_s"], &arm.summary["user_s"]);
        let system = &arm.summary["sys_s"];
        let kib = values(arm, "maxrss_kib");
        let bytes: Vec<u64> = kib.iter().map(|kib| *kib as u64 * 1024).collect();
        let wanted = json!({
            "command": long.replace("{n}", &(n + 1).to_string()), "mean": wall.mean,
            "stddev": wall.stddev, "median": wall.median, "user": user.mean, "system": system.mean,
            "min": wall.min, "max": wall.max, "times": values(arm, "wall_s"),
            "memory_usage_byte": bytes, "exit_codes": [0, 0, 0],
            "parameters": {"n": (n + 1).to_string()},
        });
        assert_eq!(Value::Object(one.clone()), wanted);
    }
    place.ends(0, &["show", "-q", "--export-json", "again.json"]);
    assert_eq!(
        exported(&place, "again.json"),
        all,
        "the record has all of it"
    );
}

#[test]
fn a_name_is_the_command_and_codes_are_those_of_the_runs() {
    let place = Home::new();
    let options = [
        "-i",
        "-r",
        "1",
        "-n",
        "bad, really",
        "--export-json",
        "h.json",
    ];
    place.result(&[&["sh -c 'exit 3'", "sh -c 'kill -9 $$'"][..], &options].concat());
    let all = exported(&place, "h.json");
    assert_eq!(all[0]["command"], "bad, really");
    assert_eq!(all[1]["command"], "sh -c 'kill -9 $$'");
    assert_eq!(
        [&all[0]["exit_codes"], &all[1]["exit_codes"]],
        [&json!([3]), &json!([137])]
    );
    assert_eq!(all[0]["stddev"], Value::Null, "of one run");
    assert!(!all[0].contains_key("parameters"));
}

#[test]
fn the_csv_has_a_row_of_seconds_per_command() {
    let place = Home::new();
    let sweep = words("-L b x,y -L a 1 -r 2 --export-csv h.csv");
    let result = place.result(&[&["true {a} {b}"][..], &sweep[..]].concat());
    let lines = place.lines("h.csv");
    let heading = "command,mean,stddev,median,user,system,min,max,parameter_a,parameter_b";
    assert_eq!((lines[0].as_str(), lines.len()), (heading, 3));
    let wall = &only(&result).arms[0].summary["wall_s"];
    let row: Vec<&str> = lines[1].split(',').collect();
    assert_eq!([row[0], row[8], row[9]], ["true 1 x", "1", "x"]);
    assert_eq!(row[1], wall.mean.to_string());
    assert_eq!(row[7], wall.max.to_string());
}

#[test]
fn the_table_is_relative_to_the_fastest_or_the_reference_in_the_wanted_unit() {
    let place = Home::new();
    let commands = ["sleep 0.1", "sleep 0.01", "-r", "2"];
    let table = |more: &[&str]| -> Vec<Vec<String>> {
        let export = ["--export-markdown", "h.md"];
        place.result(&[&commands[..], &export, more].concat());
        let cells = |line: &String| {
            let cells = line.trim_matches('|').split('|').map(str::trim);
            cells.map(str::to_owned).collect()
        };
        place.lines("h.md").iter().map(cells).collect()
    };
    let usual = table(&[]);
    let heading = ["Command", "Mean [ms]", "Min [ms]", "Max [ms]", "Relative"];
    assert_eq!(
        (&usual[0][..], usual.len()),
        (&heading.map(str::to_owned)[..], 4)
    );
    assert_eq!(usual[1].join("|"), ":---|---:|---:|---:|---:");
    assert_eq!(
        (&usual[2][0][..], &usual[3][0][..]),
        ("`sleep 0.1`", "`sleep 0.01`")
    );
    assert_eq!(usual[3][4], "1.00", "the fastest");
    let (ratio, spread) = usual[2][4].split_once(" ± ").unwrap();
    let (mean, _) = usual[2][1].split_once(" ± ").unwrap();
    let [ratio, spread, mean] = [ratio, spread, mean].map(|text| text.parse::<f64>().unwrap());
    assert!(
        (1.0..11.0).contains(&ratio) && (0.0..11.0).contains(&spread) && mean >= 100.0,
        "{usual:?}"
    );

    let sorted = table(&["--sort", "mean-time", "-u", "second"]);
    assert_eq!(sorted[0][1], "Mean [s]");
    assert_eq!(
        (&sorted[2][0][..], &sorted[3][0][..]),
        ("`sleep 0.01`", "`sleep 0.1`")
    );
    assert!(sorted[3][2].starts_with("0.1"), "{sorted:?}");

    let against = table(&["--reference", "true | cat", "--reference-name", "old"]);
    assert_eq!((&against[2][0][..], &against[2][4][..]), ("`old`", "1.00"));
}

#[test]
fn the_unit_of_times_is_that_on_the_terminal_too() {
    let place = Home::new();
    let run = [
        "compare",
        "sleep 0.01",
        "sleep 0.01",
        "-r",
        "2",
        "-u",
        "microsecond",
    ];
    let (text, _) = place.ends(0, &run);
    says(&text, &["µs"]);
    assert!(!text.contains(" ms"), "{text}");
}

#[test]
fn a_pipe_is_a_reserved_character_of_a_table_and_a_report_may_take_standard_output() {
    let place = Home::new();
    let output = place.run(&["true | cat", "-r", "1", "--export-markdown", "-"]);
    let (text, _) = ended(0, &output);
    assert!(
        text.starts_with("| Command |") && text.contains(r"`true \| cat`"),
        "{text}"
    );
    says(&said(&output), &["0 comparisons"]);
}

#[test]
fn a_run_without_commands_has_nothing_to_export() {
    let place = Home::new();
    place.smoke(&[]);
    let line = place.refuses(&["show", "--export-csv", "h.csv"]);
    says(&line, &["has no times of commands", "--json"]);
    assert!(!place.path("h.csv").exists());
}
