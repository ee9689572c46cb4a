//! Bandwidths in the measured document's own form.
#![forbid(unsafe_code)]

use furlong_lab::report::terminal::{Style, render};

use crate::odd;

#[test]
fn each_device_has_a_table_of_variations_and_differences() {
    let file = odd::named("devices");
    let text = render(&file, &Style::default());
    let (_, text) = text
        .split_once("ram: base is pool-first, patched is area-first")
        .unwrap();
    let (ram, disk) = text.split_once("disk: base is").unwrap();
    assert!(ram.contains("\n            base     patched\n"), "{ram}");
    assert!(
        ram.contains("\n            var      var      diff\n"),
        "{ram}"
    );
    for (table, load) in [(ram, 0), (ram, 1), (disk, 2)] {
        let w = &file.experiments[0].workloads[load];
        let [base, patched] = [0, 1].map(|arm| w.arms[arm].summary["bandwidth_mib_s"]);
        let row = format!(
            "{:12}{:<9}{:<9}{:+.1}%",
            w.name.split('-').next().unwrap(),
            format!("{:.2}%", base.cv_pct.unwrap()),
            format!("{:.2}%", patched.cv_pct.unwrap()),
            100.0 * (patched.mean / base.mean - 1.0)
        );
        assert!(table.contains(&row), "{row}\n{table}");
    }
    assert!(!ram.contains("empty"), "{ram}");
}

#[test]
fn without_a_device_there_is_no_such_table() {
    let mut file = odd::named("devices");
    file.experiments[0].workloads.drain(..3);
    assert!(!render(&file, &Style::default()).contains("patched"));
}
