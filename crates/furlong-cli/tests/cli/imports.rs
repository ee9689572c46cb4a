//! Other tools' files in `import`, `diff` and `stat`.

use crate::lab::{Home, says};

/// A file of pytest-benchmark with these rounds of one benchmark.
fn pytest(day: u32, rounds: [f64; 8]) -> String {
    format!(
        r#"{{"machine_info": {{"node": "box", "cpu": {{"brand_raw": "Xeon", "count": 2}}}},
        "datetime": "2026-11-{day}T00:10:49.495361+00:00", "version": "5.3.1", "benchmarks": [
        {{"name": "sum", "fullname": "a.py::sum", "stats": {{"data": {rounds:?}}}}}]}}"#
    )
}

const OLD: [f64; 8] = [
    1.00e-5, 1.01e-5, 0.99e-5, 1.00e-5, 1.01e-5, 1.00e-5, 0.99e-5, 1.00e-5,
];
const NEW: [f64; 8] = [
    2.00e-5, 2.01e-5, 1.99e-5, 2.00e-5, 2.00e-5, 2.01e-5, 1.99e-5, 2.00e-5,
];

#[test]
fn a_file_of_another_tool_is_kept_once_with_its_origin() {
    let home = Home::new();
    home.write("old.json", pytest(20, OLD));
    home.write("new.json", pytest(21, NEW));
    let store = ["--db", "r.db"];
    let import = ["import", "old.json", "new.json", "--tag", "py"];
    let (_, said) = home.ends(0, &[&import[..], &store].concat());
    says(
        &said,
        &[
            "of 2026-11-20T00:10:49",
            "of 2026-11-21T00:10:49",
            "is stored",
        ],
    );
    let (_, said) = home.ends(0, &[&["import", "new.json"][..], &store].concat());
    says(&said, &["is stored already"]);
    let (shown, _) = home.ends(0, &[&["show", "tag:py", "--details"][..], &store].concat());
    says(
        &shown,
        &[
            "pytest-benchmark 5.3.1",
            "imported from new.json",
            "a.py::sum",
            "box",
        ],
    );
    home.ends(0, &["import", "old.json", "--here", "--db", "here.db"]);
    let (exported, _) = home.ends(0, &["export", "latest", "--db", "here.db"]);
    says(&exported, &["a.py::sum"]);
    let history = ["history", "pytest-benchmark", "--machine", "box"];
    let (history, _) = home.ends(0, &[&history[..], &store].concat());
    says(&history, &["a.py::sum", "2  10.00 µs  20.00 µs"]);
}

#[test]
fn two_files_are_compared_by_benchmark() {
    let home = Home::new();
    home.write("old.json", pytest(20, OLD));
    home.write("new.json", pytest(21, NEW));
    let (stdout, _) = home.ends(0, &["diff", "old.json", "new.json"]);
    // Without a control there is an interval and no verdict.
    says(&stdout, &["a.py::sum", "+100.0 %", "inconclusive"]);
    let (stdout, _) = home.ends(0, &["stat", "old.json", "new.json"]);
    says(&stdout, &["old.json", "new.json"]);
    let go = "goos: linux\nBenchmarkA-8 1 5 ns/op 3 B/op\nBenchmarkB-8 1 7 ns/op\n";
    home.write("go.txt", go);
    home.write("later.txt", go.replace("3 B", "4 B"));
    let (stdout, _) = home.ends(
        0,
        &["diff", "go.txt", "later.txt", "--metric", "bytes_per_op"],
    );
    says(&stdout, &["A-8", "bytes_per_op"]);
    let (_, refused) = home.ends(2, &["stat", "go.txt", "old.json"]);
    says(
        &refused,
        &["choose one with --series: ", "(furlong diff compares all)"],
    );
}

#[test]
fn a_file_that_is_nobodys_is_refused_and_nothing_is_stored() {
    let home = Home::new();
    home.write("good.json", pytest(20, OLD));
    let whole = pytest(20, OLD);
    let negative = pytest(20, [-1e-5; 8]);
    for (text, why) in [
        (&negative[..], "`a.py::sum` has a value below zero"),
        ("", "is empty"),
        (&whole[..60], "is not JSON"),
        ("{\"some\": \"thing\"}", "is JSON of an unknown tool"),
        ("three words here\n", "is not a result of furlong"),
    ] {
        home.write("bad.json", text);
        let said = home.refuses(&["import", "good.json", "bad.json", "--db", "r.db"]);
        says(&said, &["bad.json", why]);
        assert!(!home.path("r.db").exists());
        says(
            &home.refuses(&["diff", "good.json", "bad.json"]),
            &["bad.json", why],
        );
    }
    says(
        &home.refuses(&["diff", "none.json", "bad.json"]),
        &["cannot read none.json"],
    );
}
