//! `furlong seeds`: five tables, with each figure from a document or a record.

use std::fs;
use std::path::Path;

use crate::lab::{Home, read, says};
use furlong_lab::model::result::ResultFile;

/// A committed record of the first document's experiment.
const RECORD: &str = "../../experiments/iova-propagation/results/2026-11-21-25da9c5.json";

/// The directory of records, from a test's home.
const RESULTS: &str = "experiments/iova-propagation/results";

fn record() -> ResultFile {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD))
}

/// The effect of the first document's change as a record has it, in its main figures.
fn effect(result: &ResultFile) -> f64 {
    let experiment = &result.experiments[0];
    let mut workloads = experiment.workloads.iter();
    let plain = workloads.find(|one| one.name == "plain").unwrap();
    let mut all = plain.comparisons.iter();
    let found = all.find(|one| one.arm == "checked" && one.metric == "time_ns_per_op");
    found.unwrap().effect_pct
}

fn line<'a>(page: &'a str, begins: &str) -> &'a str {
    let found = page.lines().find(|line| line.contains(begins));
    found.unwrap_or_else(|| panic!("no {begins} in {page}"))
}

#[test]
fn a_record_stands_beside_the_document() {
    let home = Home::new();
    fs::create_dir_all(home.path(RESULTS)).unwrap();
    let mut result = record();
    home.put(&format!("{RESULTS}/one.json"), &result);
    home.write(&format!("{RESULTS}/other.json"), "{}");
    let (page, talk) = home.ends(0, &["seeds", "--md", "-"]);
    assert_eq!(page.matches("\n## ").count(), 5, "{page}");
    says(&talk, &["other.json is left out"]);
    let shown = format!("| {:.1} % ", effect(&result));
    let time = line(&page, "| plain, time |");
    says(time, &[&shown, r"-17.8 % \[-18.0, -17.6\]"]);
    says(&page, &[&result.run.id]);
    assert!(line(&page, "| elapsed |").contains("| not yet |"));
    says(
        &page,
        &["Not measured yet: furlong run vmspace-index --workloads kernbench"],
    );
    // The store takes precedence over files, but only with runs of this machine.
    let here = home.smoke(&["--db", "runs.db"]).run.machine;
    result.run.id = "another0".to_owned();
    result.run.machine = here;
    home.put("another.json", &result);
    home.ends(0, &["import", "another.json", "--db", "runs.db"]);
    let (page, _) = home.ends(0, &["seeds", "--db", "runs.db", "--html", "-"]);
    says(&page, &["run another0"]);
    assert_eq!(page.matches("<h2>").count(), 5, "{page}");
    // Four documents publish changes; the one that publishes times has no picture.
    assert_eq!(page.matches("<svg").count(), 4, "{page}");
    let about = format!(
        "plain, time: published -17.8 %, here {:.1} %",
        effect(&result)
    );
    says(&page, &[&about]);
    assert!(!page.contains("another machine"), "{page}");
}

#[test]
fn without_records_there_are_the_documents_alone() {
    let home = Home::new();
    let (page, _) = home.ends(0, &["seeds"]);
    says(&page, &["It contradicts itself", "not yet"]);
    let told = home.refuses(&["seeds", "--experiments", "nowhere"]);
    says(&told, &["there is no directory nowhere"]);
}
