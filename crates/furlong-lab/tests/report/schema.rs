//! JSON and its schema.

use furlong_lab::model::result::ResultFile;
use furlong_lab::report::{finite, json};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::odd;

fn shipped() -> Value {
    serde_json::from_str(json::SCHEMA).unwrap()
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(schema).unwrap();
    jsonschema::draft202012::new(schema).unwrap()
}

fn written(file: &ResultFile) -> Value {
    serde_json::from_str(&json::render(file)).unwrap()
}

/// The schema with every object closed: an unknown field is an error.
fn closed(mut schema: Value) -> Value {
    if let Value::Object(object) = &mut schema {
        for value in object.values_mut() {
            *value = closed(value.take());
        }
        if object.contains_key("properties") && object.get("type") == Some(&json!("object")) {
            let others = object.entry("additionalProperties");
            others.or_insert(json!(false));
        }
    }
    schema
}

#[test]
fn every_result_that_is_written_is_valid() {
    let validator = validator(&shipped());
    for (name, file) in odd::all() {
        let value = written(&file);
        if let Err(error) = validator.validate(&value) {
            panic!("{name}: {error} at {}", error.instance_path());
        }
    }
}

#[test]
fn the_schema_knows_every_field_that_is_written() {
    let validator = validator(&closed(shipped()));
    for name in ["rich", "functions", "control-failed", "hostile"] {
        let value = written(&odd::named(name));
        if let Err(error) = validator.validate(&value) {
            panic!("{name}: {error} at {}", error.instance_path());
        }
    }
}

#[test]
fn a_reader_of_the_schema_meets_every_field_filled() {
    let text = json::render(&odd::full());
    let value: Value = serde_json::from_str(&text).unwrap();
    let comparison = &value["experiments"][0]["workloads"][0]["comparisons"][0];
    let defs = &shipped()["$defs"];
    for (name, found) in [
        ("comparison", comparison),
        ("machine", &value["run"]["machine"]),
    ] {
        let known = defs[name]["properties"].as_object().unwrap();
        for field in known.keys() {
            assert!(!found[field].is_null(), "{name}.{field} is never written");
        }
    }
    assert!(validator(&closed(shipped())).is_valid(&value));
}

#[test]
fn a_record_from_before_directions_were_stored_can_be_read() {
    let mut old = written(&odd::named("rich"));
    let comparisons = "/experiments/0/workloads/0/comparisons";
    let comparisons = old.pointer_mut(comparisons).and_then(Value::as_array_mut);
    let mut told = 0;
    for comparison in comparisons.unwrap() {
        let fields = comparison.as_object_mut().unwrap();
        told += usize::from(fields.remove("direction").is_some_and(|one| !one.is_null()));
    }
    assert!(told > 0, "it had directions");
    assert!(validator(&shipped()).is_valid(&old));
    let read: ResultFile = serde_json::from_value(old).unwrap();
    let mut all = read.experiments[0].workloads[0].comparisons.iter();
    assert!(all.all(|one| one.direction.is_none()));
}

#[test]
fn broken_results_are_refused() {
    let validator = validator(&shipped());
    let whole = written(&odd::named("rich"));
    assert!(validator.is_valid(&whole));
    let workload = "/experiments/0/workloads/0";
    let breaks: [(String, Value); 15] = [
        ("/schema".to_owned(), json!("furlong.result/2")),
        ("/run".to_owned(), json!(null)),
        ("/run/seed".to_owned(), json!(-1)),
        ("/run/seed".to_owned(), json!("7")),
        ("/run/machine/cpus".to_owned(), json!(1.5)),
        ("/experiments".to_owned(), json!({})),
        (
            "/experiments/0/metrics/time_ns_per_op/better".to_owned(),
            json!("Lower"),
        ),
        (format!("{workload}/blocks/0"), json!("0")),
        (
            format!("{workload}/arms/0/samples/time_ns_per_op/0"),
            json!("148.0"),
        ),
        (
            format!("{workload}/arms/0/summary/time_ns_per_op/min"),
            json!(null),
        ),
        (format!("{workload}/comparisons/0/verdict"), json!("same")),
        (
            format!("{workload}/comparisons/0/direction"),
            json!("faster"),
        ),
        (format!("{workload}/comparisons/0/effect_pct"), json!(null)),
        (format!("{workload}/comparisons/0/ci95_pct"), json!([1.0])),
        (format!("{workload}/comparisons/0/paired/p"), json!(1.5)),
    ];
    for (pointer, value) in breaks {
        let mut broken = whole.clone();
        *broken.pointer_mut(&pointer).unwrap() = value.clone();
        assert!(
            !validator.is_valid(&broken),
            "{pointer} = {value} is let through"
        );
    }
    for pointer in ["/run", "/experiments/0", workload] {
        let object = whole.pointer(pointer).and_then(Value::as_object).unwrap();
        let required = [
            "name",
            "id",
            "machine",
            "arms",
            "order",
            "metric_order",
            "workloads",
        ];
        for field in required
            .into_iter()
            .filter(|field| object.contains_key(*field))
        {
            let mut broken = whole.clone();
            let object = broken.pointer_mut(pointer).and_then(Value::as_object_mut);
            object.unwrap().remove(field);
            assert!(
                !validator.is_valid(&broken),
                "{pointer} without {field} is let through"
            );
        }
    }
}

#[test]
fn what_is_written_reads_back_as_it_was() {
    for (name, file) in odd::all() {
        let back: ResultFile = serde_json::from_str(&json::render(&file)).unwrap();
        assert_eq!(back, finite(&file), "{name}");
        // The sum of the largest numbers is infinite.
        if !["not-finite", "constant"].contains(&name) {
            assert_eq!(back, file, "{name}");
        }
    }
}

#[test]
fn what_is_no_number_becomes_null_or_a_warning() {
    let file = odd::named("not-finite");
    let value = written(&file);
    let w = &value["experiments"][0]["workloads"][0];
    assert_eq!(w["arms"][0]["samples"]["time_ns_per_op"][0], Value::Null);
    assert_eq!(w["arms"][0]["samples"]["time_ns_per_op"][3], Value::Null);
    assert_eq!(w["arms"][0]["summary"]["time_ns_per_op"], Value::Null);
    assert_eq!(w["comparisons"][0]["ci95_pct"], Value::Null);
    assert_eq!(value["run"]["machine"]["load_1m"], Value::Null);
    let warnings = w["warnings"].to_string();
    assert!(
        warnings.contains("checked against eager: time_ns_per_op has no effect"),
        "{warnings}"
    );
    assert!(
        warnings.contains("eager: 2 samples of time_ns_per_op are not finite"),
        "{warnings}"
    );
    let before = file.experiments[0].workloads[0].comparisons.len();
    assert_eq!(w["comparisons"].as_array().map(Vec::len), Some(before - 1));
}
