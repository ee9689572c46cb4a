//! Samples with known results of ministat and scipy: `furlong stat` must agree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lab::FURLONG;
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../furlong-stats/tests/vectors/ministat")
}

/// Every `.cmd` file below the vectors, in a fixed order.
fn cases() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(vectors()).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            found.extend(fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()));
        }
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "cmd"));
    found.sort();
    found
}

fn furlong(folder: &Path) -> Command {
    let mut command = Command::new(FURLONG);
    command
        .arg("stat")
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_remove("COLUMNS");
    command
}

#[test]
fn every_vector_is_printed_byte_for_byte_with_its_exit_code() {
    let cases = cases();
    assert!(cases.len() >= 90, "only {} vectors are here", cases.len());
    for case in cases {
        let line = fs::read_to_string(&case).unwrap();
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("ministat"), "{}", case.display());
        let found = furlong(case.parent().unwrap())
            .arg("--ministat")
            .args(words)
            .output()
            .unwrap();
        let code = fs::read_to_string(case.with_extension("rc")).unwrap();
        let wanted = fs::read(case.with_extension("out")).unwrap();
        let talk = String::from_utf8_lossy(&found.stderr);
        assert!(
            found.stdout == wanted && found.status.code() == code.trim().parse().ok(),
            "{}: {:?}, and says {talk}",
            case.display(),
            found.status
        );
        assert_eq!(
            found.status.success(),
            talk.is_empty(),
            "{}",
            case.display()
        );
    }
}

fn json_of(folder: &str, base: &str, other: &str) -> Value {
    let found = furlong(&vectors().join(folder))
        .args(["--json", "-", base, other])
        .output()
        .unwrap();
    assert!(found.status.success(), "{folder}");
    serde_json::from_slice(&found.stdout).unwrap()
}

/// Checks that both are within `relative` of each other, or both are missing.
fn close(found: &Value, wanted: &Value, relative: f64, what: &str) {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => assert!(
            (found - wanted).abs() <= relative * wanted.abs(),
            "{what}: {found:e} is not {wanted:e}"
        ),
        (found, wanted) => assert_eq!(found, wanted, "{what}"),
    }
}

#[test]
fn json_agrees_with_scipy_on_every_pair() {
    let text = fs::read_to_string(vectors().join("expected-stats.json")).unwrap();
    let pairs: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(pairs.len() >= 10);
    for wanted in pairs {
        let word = |key: &str| wanted[key].as_str().unwrap().to_string();
        let vector = word("vector");
        // The files of this vector are lost.
        if vector == "v4-unequal-n" {
            continue;
        }
        let found = json_of(&vector, &word("base"), &word("cand"));
        for side in 0..2 {
            let set = &found["sets"][side];
            for (name, key) in [
                ("n", "n"),
                ("mean", "mean"),
                ("median", "median"),
                ("stddev", "sd"),
            ] {
                close(&set[name], &wanted[key][side], EXACT, &vector);
            }
        }
        check_pair(&found["comparisons"][0], &wanted, &vector);
    }
}

/// Tolerance of a figure.
const EXACT: f64 = 1e-9;

/// Tolerance of a probability.
const P: f64 = 1e-6;

/// The figures of a pair here and at scipy, by their JSON pointers, with the relative tolerance.
const FIGURES: [(&str, &str, f64); 14] = [
    ("/difference", "/diff", EXACT),
    ("/student/difference_pct", "/diff_pct", EXACT),
    ("/student/pooled_s", "/student/pooled_s", EXACT),
    ("/student/plus_minus", "/student/half95", EXACT),
    ("/student_test/t", "/student/t", EXACT),
    ("/student_test/df", "/student/df", EXACT),
    ("/student_test/p", "/student/p", P),
    ("/welch/t", "/welch/t", EXACT),
    ("/welch/df", "/welch/df", EXACT),
    ("/welch/p", "/welch/p", P),
    ("/difference_interval/0", "/welch/ci95/0", EXACT),
    ("/difference_interval/1", "/welch/ci95/1", EXACT),
    ("/mann_whitney/u", "/mwu/U_cand", EXACT),
    ("/shift", "/hodges_lehmann_shift", EXACT),
];

fn check_pair(found: &Value, wanted: &Value, vector: &str) {
    for (ours, theirs, relative) in FIGURES {
        let (ours, theirs) = (found.pointer(ours), wanted.pointer(theirs));
        let [ours, theirs] = [ours, theirs].map(|found| found.unwrap_or(&Value::Null));
        close(ours, theirs, relative, vector);
    }
    let ranks = &wanted["mwu"];
    let p_of_ranks = match &ranks["p_exact_permutation_midranks"] {
        Value::Null => &ranks["p_asymptotic_cc"],
        exact => exact,
    };
    close(&found["mann_whitney"]["p"], p_of_ranks, P, vector);
}

#[test]
fn the_default_picture_keeps_the_stack_that_ministat_loses() {
    let picture = |order: [&str; 2]| {
        let found = furlong(&vectors().join("v9-height-quirk"))
            .args(["-w", "40"])
            .args(order)
            .output()
            .unwrap();
        let text = String::from_utf8(found.stdout).unwrap();
        let rows: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with('|') && !line.contains('_'))
            .map(str::to_string)
            .collect();
        rows
    };
    let rows = picture(["tall", "flat"]);
    assert_eq!(rows.len(), 5);
    assert!(
        rows[..4]
            .iter()
            .all(|row| row.trim_matches(['|', ' ']) == "x")
    );
    let swapped: Vec<String> = picture(["flat", "tall"])
        .iter()
        .map(|row| row.replace('+', "x"))
        .collect();
    let rows: Vec<String> = rows.iter().map(|row| row.replace('+', "x")).collect();
    assert_eq!(rows, swapped);
}
