//! All workloads of an experiment at a glance.

use furlong_lab::report::terminal::{Style, render};
use furlong_lab::report::{junit, markdown};

use crate::odd;

#[test]
fn many_workloads_have_one_table_with_the_medians_of_all_arms() {
    let mut file = odd::named("rich");
    let e = &mut file.experiments[0];
    // In that workload, an arm that cannot run comes last; in the overview it keeps its column.
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
fn workloads_with_another_primary_metric_have_a_table_of_their_own() {
    let file = odd::named("devices");
    let text = render(&file, &Style::default());
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    let bandwidths = at("bandwidth_mib_s, higher is better, medians in");
    let times = at("time_ns_per_map, lower is better, medians in");
    let row = |name: &str, from: usize| from + text[from..].find(&format!("\n{name} ")).unwrap();
    assert!(bandwidths < row("small-disk", bandwidths) && row("small-disk", bandwidths) < times);
    assert!(row("empty", bandwidths) > times);
    let document = markdown::render(&file);
    let (_, tables) = document.split_once("### All workloads").unwrap();
    assert_eq!(tables.matches("| workload |").count(), 2, "{tables}");
    // The verdict is that of a metric with values in the workload.
    assert!(
        text.contains("empty") && !text.contains("nothing was measured"),
        "{text}"
    );
    assert_eq!(
        junit::render(&file).matches("nothing was measured").count(),
        0
    );
}

#[test]
fn few_workloads_have_none() {
    let mut file = odd::named("rich");
    file.experiments[0].workloads.truncate(3);
    assert!(!render(&file, &Style::default()).contains("medians in"));
    assert!(!markdown::render(&file).contains("### All workloads"));
}
