//! Comparisons that end before the largest number of blocks.

use furlong_lab::model::result::{Comparison, ResultFile, Verdict};
use serde_json::json;

use super::place::only;
use crate::lab::Home;

/// A command that prints two numbers in turn, a few per cent apart.
fn printing(log: &str, values: [f64; 2]) -> String {
    let [even, odd] = values;
    let turn = format!("echo x >> {log}; n=$(wc -l < {log}); [ $((n % 2)) = 0 ]");
    format!("sh -c '{turn} && echo {even} || echo {odd}'")
}

/// The comparison of the figures that the commands print.
fn decided(result: &ResultFile) -> &Comparison {
    let mut all = only(result).comparisons.iter();
    all.find(|one| one.metric == "value").unwrap()
}

#[test]
fn a_verdict_that_is_certain_early_ends_the_comparison_and_pays_for_the_looks() {
    let place = Home::new();
    let (old, new) = (printing("a", [100.0, 101.0]), printing("b", [50.0, 50.5]));
    let options = [
        "--metric", r"[0-9.]+", "--early", "--blocks", "30", "--seed", "3",
    ];
    let result = place.result(&[&[&old[..], &new][..], &options].concat());
    let workload = only(&result);
    assert_eq!(
        workload.blocks.len(),
        6,
        "the first look that can have a verdict"
    );
    assert_eq!(
        workload.params["stopped"],
        "as soon as the verdict was certain"
    );
    assert_eq!(
        workload.params["stopping"],
        json!({"rule": "early", "planned": 30})
    );
    let found = decided(&result);
    assert_eq!(found.verdict, Verdict::Keep);
    let level = found.level.unwrap();
    assert!(level > 0.9999, "the first of five looks: {level}");
    let ([low, high], [adj_low, adj_high]) = (found.ci95_pct.unwrap(), found.ci_adj_pct.unwrap());
    assert!(adj_low < low && high < adj_high);
    let biased = |text: &String| text.contains("the true effect is probably smaller");
    assert!(
        workload.warnings.iter().any(biased),
        "{:?}",
        workload.warnings
    );
}

#[test]
fn a_wanted_width_takes_as_many_blocks_as_the_pilot_says() {
    let place = Home::new();
    let (old, new) = (printing("a", [100.0, 101.0]), printing("b", [100.0, 101.0]));
    let options = ["--metric", r"[0-9.]+", "--until", "0.4", "--seed", "3"];
    let result = place.result(&[&[&old[..], &new][..], &options].concat());
    let workload = only(&result);
    let [low, high] = decided(&result).ci95_pct.unwrap();
    assert!(workload.blocks.len() >= 10, "the pilot");
    assert!(
        high - low <= 0.81,
        "{low} {high} in {} blocks",
        workload.blocks.len()
    );
    assert_eq!(workload.params["stopped"], "at the wanted width");
    let test = decided(&result).paired.unwrap();
    assert_eq!(test.df, 9.0, "the pilot's");
}

#[test]
fn a_width_that_takes_more_blocks_than_are_allowed_says_how_many() {
    let place = Home::new();
    let (old, new) = (printing("a", [100.0, 110.0]), printing("b", [100.0, 110.0]));
    let options = ["--metric", r"[0-9.]+", "--until", "0.1", "--blocks", "11"];
    let result = place.result(&[&[&old[..], &new][..], &options].concat());
    let workload = only(&result);
    assert_eq!(workload.blocks.len(), 11);
    assert!(!workload.params.contains_key("stopped"));
    let wider = |text: &String| text.starts_with("the interval is wider than requested: ");
    assert!(
        workload.warnings.iter().any(wider),
        "{:?}",
        workload.warnings
    );
}

#[test]
fn a_time_limit_ends_a_workload_and_loses_nothing() {
    let place = Home::new();
    let options = ["--blocks", "1000", "--max-time", "0.5"];
    let result = place.result(&[&["sleep 0.05", "sleep 0.05"][..], &options].concat());
    let blocks = only(&result).blocks.len();
    assert!((1..=4).contains(&blocks), "{blocks}");
    assert_eq!(only(&result).params["stopped"], "by the time limit");
    assert!(
        only(&result)
            .warnings
            .iter()
            .all(|text| !text.contains("the true effect is probably smaller"))
    );
}

#[test]
fn hundreds_of_runs_are_no_trouble() {
    let place = Home::new();
    let result = place.result(&["true", "true", "--blocks", "400"]);
    assert_eq!(only(&result).blocks.len(), 400);
    let wall = &only(&result).comparisons[0];
    assert_eq!((wall.metric.as_str(), wall.n), ("wall_s", 400));
}

#[test]
fn two_rules_at_once_and_no_width_are_refused() {
    let place = Home::new();
    for wrong in [
        &["--early", "--until", "1"][..],
        &["--until", "0"],
        &["--max-time", "0"],
    ] {
        let output = place.run(&[&["true", "true"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
