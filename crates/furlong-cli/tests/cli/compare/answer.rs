//! The answer about two commands, as a user sees it.

use furlong_lab::model::result::Verdict;

use super::place::only;
use crate::lab::{Home, ended, is_spoiler, read, says};

#[test]
fn two_commands_have_an_answer_of_twelve_lines_that_ends_with_the_sentence() {
    let home = Home::new();
    for columns in ["60", "80"] {
        let mut compare = home.compare(&["sleep 0.01", "sleep 0.03", "--json", "r.json"]);
        let (stdout, stderr) = ended(0, &compare.env("COLUMNS", columns).output().unwrap());
        let said = stderr.lines().filter(|line| !is_spoiler(line)).count();
        assert!(said + stdout.lines().count() <= 12, "{stderr}{stdout}");
        says(&stderr, &["at most 30 s or 6 blocks"]);
        says(&stdout, &["slower: sleep 0.03 takes ", "95 % interval"]);
        let workload = &read(&home.path("r.json")).experiments[0].workloads[0];
        assert_eq!(workload.comparisons[0].verdict, Verdict::Revert);
        assert_eq!(workload.params["stopping"]["looks"], 10);
        assert!(workload.params["stopping"]["planned"].as_u64() >= Some(6));
        assert!(workload.blocks.len() >= 6);
    }
}

#[test]
fn slow_commands_have_six_blocks_beyond_the_time() {
    let home = Home::new();
    let result = home.result(&["sleep 0.05", "sleep 0.05", "--max-time", "0.3"]);
    let workload = only(&result);
    assert_eq!(
        workload.params["stopping"]["planned"], 6,
        "{:?}",
        workload.params
    );
}

#[test]
fn an_open_question_offers_counts_and_auto_takes_them() {
    let home = Home::new();
    let same = ["true", "true", "--blocks", "2"];
    let (stdout, _) = ended(0, &home.run(&same));
    assert!(!stdout.contains("instructions"), "{stdout}");
    says(&stdout, &["6 blocks"]);
    let found = std::process::Command::new("valgrind")
        .arg("--version")
        .output();
    if found.is_err() {
        says(
            &home.fails(2, &[&same[..], &["--counters", "auto"]].concat()),
            &["valgrind"],
        );
        return;
    }
    let result = home.result(&[&same[..], &["--counters", "auto"]].concat());
    let counts = |arm: usize| only(&result).arms[arm].samples["instructions"].clone();
    assert_eq!(counts(0), counts(1));
    let sure = ["true", "sleep 0.02", "--blocks", "8", "--counters", "auto"];
    let result = home.result(&sure);
    assert!(!only(&result).arms[0].samples.contains_key("instructions"));
}
