//! Runs with an injection attempt in every name and remark.

use furlong_lab::model::result::ResultFile;
use furlong_lab::record::store::{Location, Store};
use serde_json::{Value, json};

use super::names::CORPUS;

/// The runs.
pub(crate) const RUNS: [&str; 3] = ["hostile1", "hostile2", "hostile3"];

/// Adds them to a store.
pub(crate) fn fill(location: &Location) {
    let mut store = Store::open(location).unwrap();
    for (number, id) in RUNS.into_iter().enumerate() {
        store.import(&result(id, number)).unwrap();
    }
    store.pin(RUNS[0]).unwrap();
}

fn name(place: usize) -> &'static str {
    CORPUS[place % CORPUS.len()]
}

fn result(id: &str, number: usize) -> ResultFile {
    let experiments = (0..CORPUS.len()).map(|place| experiment(place, number));
    let experiments: Vec<Value> = experiments.collect();
    let result = json!({
        "schema": "furlong.result/1",
        "run": {
            "id": id,
            "started": format!("2026-0{}-01T00:00:00+00:00", number + 1),
            "command": CORPUS,
            "profile": "quick",
            "seed": number,
            "version": name(1),
            "tag": name(number),
            "note": CORPUS.join(" "),
            "warnings": CORPUS,
            "machine": {
                "id": format!("hostile{}", name(2)),
                "host": name(0),
                "kernel": name(11),
                "cpu": name(5),
                "cpus": 1,
                "governor": name(6),
                "rustc": name(7),
                "build": name(8),
            },
        },
        "experiments": experiments,
    });
    serde_json::from_value(result).unwrap()
}

fn experiment(place: usize, number: usize) -> Value {
    let metric = name(place + 3);
    json!({
        "name": name(place),
        "question": name(place + 1),
        "metrics": { metric: {
            "unit": name(place + 2),
            "better": "lower",
            "kind": "sampled",
            "primary": true,
            "about": name(place + 4),
        }},
        "metric_order": [metric],
        "left_out": [name(place + 5)],
        "workloads": [workload(place, metric, number)],
    })
}

fn workload(place: usize, metric: &str, number: usize) -> Value {
    let arms = [0, 1].map(|arm| format!("{}{}", name(place + 6), "'".repeat(arm)));
    let value = |block: usize, arm: usize| 10.0 + (block * 3 + arm * 5 + number) as f64 / 10.0;
    let arm = |arm: usize| {
        let values: Vec<f64> = (0..4).map(|block| value(block, arm)).collect();
        json!({ "name": arms[arm], "na": null, "samples": { metric: values }, "summary": {} })
    };
    let absent = json!({
        "name": name(place + 7).to_owned() + "!",
        "na": name(place + 8),
        "samples": {},
        "summary": {},
    });
    let order: Vec<[&str; 2]> = (0..4).map(|_| [arms[0].as_str(), &arms[1]]).collect();
    json!({
        "name": name(place + 9),
        "params": { "operations": 1, name(place + 10): name(place + 11) },
        "blocks": [1, 2, 3, 4],
        "order": order,
        "arms": [arm(0), arm(1), absent],
        "control": {},
        "comparisons": [],
        "warnings": [name(place + 12)],
    })
}
