//! All workloads of an experiment at a glance.
#![forbid(unsafe_code)]

use furlong_lab::report::markdown;
use furlong_lab::report::terminal::{Style, render};

use crate::odd;

#[test]
fn many_workloads_have_one_table_with_the_medians_of_all_arms() {
    let mut file = odd::named("rich");
    let e = &mut file.experiments[0];
    // An arm that cannot run a workload comes last there, and stays in its column here.
    let w = &mut e.workloads[2];
    w.arms[0].na = Some("at most 32 segments".to_owned());
    w.arms[0].samples.clear();
    w.arms[0].summary.clear();
    w.arms.rotate_left(1);
    let medians = |workload: usize| {
        let arms = e.workloads[workload].arms.iter();
        let medians = arms.filter_map(|arm| arm.summary.get("time_ns_per_op"));
        medians
            .map(|summary| format!("{:.1}", summary.median))
            .collect::<Vec<_>>()
    };
    let (first, third) = (medians(0), medians(2));
    let text = render(&file, &Style::default());
    let mut table = text
        .lines()
        .skip_while(|line| !line.contains(", medians in ns"));
    let mut row = |name: &str| {
        let line = table
            .find(|line| line.split_whitespace().next() == Some(name))
            .unwrap();
        line.split_whitespace()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("workload"), ["eager", "deferred", "checked"]);
    assert_eq!(row("plain"), first);
    assert_eq!(row("rem"), third);
    let document = markdown::render(&file);
    let (_, table) = document.split_once("### All workloads").unwrap();
    assert!(table.contains(&format!("| rem |  | {} | {} |", third[0], third[1])));
}

#[test]
fn few_workloads_have_none() {
    let mut file = odd::named("rich");
    file.experiments[0].workloads.truncate(3);
    assert!(!render(&file, &Style::default()).contains("medians in"));
    assert!(!markdown::render(&file).contains("### All workloads"));
}
