//! The pages of the history in the form for programs: valid by the published schemas, and with the
//! figures of the pages for people.

use std::path::Path;

use crate::lab::{EXPERIMENT, Home, read, says};
use furlong_lab::report::json::{DIFF_SCHEMA, HISTORY_SCHEMA, SEEDS_SCHEMA};
use serde_json::{Value, json};

/// A committed record of the experiment.
const RECORD: &str = "../../experiments/tree-order/results/2026-11-22-aa07094.json";

/// A home with runs of a record, one per hour; from the sixteenth on, an arm is slower by a tenth.
fn home() -> Home {
    let home = Home::new();
    let mut files = vec![];
    for number in 0..24_u32 {
        let mut result = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD));
        result.run.id = format!("run{number:05}");
        result.run.started = format!("2026-01-01T{number:02}:00:00+00:00");
        // Runs without any noise would leave nothing to test.
        let noise = 1.0 + 0.001 * f64::from(number % 3);
        let factor = noise * if number < 15 { 1.0 } else { 1.1 };
        let workloads = result.experiments[0].workloads.iter_mut();
        let arms = workloads.flat_map(|workload| &mut workload.arms);
        let values = arms.filter(|arm| arm.name == "checked");
        let values = values.flat_map(|arm| arm.samples.values_mut().flatten().flatten());
        values.for_each(|value| *value *= factor);
        let file = format!("{}.json", result.run.id);
        home.put(&file, &result);
        files.push(file);
    }
    let arguments = ["import", "-q"].into_iter();
    let arguments: Vec<&str> = arguments.chain(files.iter().map(String::as_str)).collect();
    home.ends(0, &arguments);
    home
}

/// The JSON that a verb writes on standard output; it is valid by the closed schema.
fn written(home: &Home, arguments: &[&str], schema: &str) -> Value {
    let (out, page) = home.ends(0, &[arguments, &["--json", "-"]].concat());
    assert!(!page.is_empty(), "the page goes where people see it");
    let value: Value = serde_json::from_str(&out).unwrap();
    let schema = closed(serde_json::from_str(schema).unwrap());
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    if let Err(error) = validator.validate(&value) {
        panic!("{arguments:?}: {error} at {}", error.instance_path());
    }
    value
}

/// The schema with every object closed, unless it is declared open.
fn closed(mut schema: Value) -> Value {
    if let Value::Object(object) = &mut schema {
        for value in object.values_mut() {
            *value = closed(value.take());
        }
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    schema
}

#[test]
fn a_history_has_its_points_and_the_steps_that_the_page_names() {
    let home = home();
    let all = written(&home, &["history"], HISTORY_SCHEMA);
    assert_eq!(all["runs"].as_array().unwrap().len(), 20);
    assert_eq!(all["runs"][0]["id"], "run00023");
    let plain = ["history", EXPERIMENT, "--workloads", "plain"];
    let found = written(&home, &plain, HISTORY_SCHEMA);
    let series = found["experiments"][0]["series"].as_array().unwrap();
    let of = |arm: &str| series.iter().find(|one| one["arm"] == arm).unwrap();
    let steps = of("checked")["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert_eq!(steps[0]["run"], "run00015");
    assert_eq!(of("checked")["points"].as_array().unwrap().len(), 24);
    let (page, _) = home.ends(0, &plain);
    let effect = steps[0]["effect_pct"].as_f64().unwrap();
    says(&page, &[&format!("+{effect:.1} %, from run run00015")]);
}

#[test]
fn a_difference_has_the_verdicts_that_the_page_names() {
    let home = home();
    let found = written(&home, &["diff", "run00000", "run00023"], DIFF_SCHEMA);
    assert_eq!(found["before"]["id"], "run00000");
    let all = found["differences"].as_array().unwrap();
    let checked: Vec<_> = all.iter().filter(|one| one["arm"] == "checked").collect();
    assert!(!checked.is_empty() && checked.iter().all(|one| one["verdict"] == "revert"));
    let effect = checked[0]["effect_pct"].as_f64().unwrap();
    assert!((9.0..11.0).contains(&effect), "{effect}");
}

#[test]
fn the_documents_have_what_is_judged_and_what_was_measured() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let home = Home::new();
    let found = written(&home, &["seeds", "--experiments", root], SEEDS_SCHEMA);
    let documents = found["documents"].as_array().unwrap();
    assert_eq!(documents.len(), 5);
    let claim = &documents[0]["claims"][0];
    assert_eq!(claim["judgement"]["tested"]["n"], 64);
    let measured = &claim["measured"];
    assert!(
        measured["figure"]["change"]["effect_pct"].is_number(),
        "{measured}"
    );
    let once = documents[1]["claims"][0]["judgement"]["once"].as_f64();
    assert!((once.unwrap() - 32_860.0).abs() < 1e-6, "{once:?}");
    // Duplicate or unwritable destinations are refused before anything is done.
    home.refuses(&["seeds", "--json", "x", "--md", "x"]);
    home.refuses(&["history", "--json", "no/such/place"]);
}
