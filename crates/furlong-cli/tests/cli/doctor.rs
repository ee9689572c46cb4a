//! `furlong doctor` from a user's view.

use std::process::Output;

use serde_json::Value;

use crate::lab::{Home, ended, says, text};

fn doctor(arguments: &[&str]) -> Output {
    Home::new().output(&[&["doctor"], arguments].concat())
}

#[test]
fn every_finding_is_a_line_with_its_state_and_the_bad_ones_have_a_remedy() {
    let (lines, _) = ended(0, &doctor(&["--no-floor"]));
    for subject in [
        "frequency governor",
        "turbo",
        "SMT",
        "address randomisation",
        "transparent huge pages",
        "load",
        "stolen time",
        "container limits",
        "clock",
        "counter hw_instructions",
        "counter syscalls",
        "counter callgrind",
    ] {
        let mut found = lines
            .lines()
            .filter(|line| line.contains(&format!(" {subject}: ")));
        let line = found
            .next()
            .unwrap_or_else(|| panic!("nothing of {subject} in {lines}"));
        assert!(
            ["good", "bad", "unknown"]
                .iter()
                .any(|state| line.starts_with(state)),
            "{line}"
        );
        assert!(line.starts_with("good") || line.contains("; "), "{line}");
        assert_eq!(found.next(), None);
    }
    assert!(!lines.contains("noise floor"), "{lines}");
}

#[test]
fn the_floor_is_measured_and_the_json_has_everything() {
    let (json, _) = ended(0, &doctor(&["--seconds", "0.1", "--json", "-"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "furlong.doctor/1");
    assert_eq!(json["floor"]["blocks"], 6, "as many as a verdict needs");
    assert!(json["floor"]["floor_pct"].as_f64().unwrap() >= 0.0);
    assert!(json["floor"]["sample_s"].as_f64().unwrap() > 0.0);
    assert!(json["machine"]["cpus"].as_u64().unwrap() >= 1);
    let findings = json["findings"].as_array().unwrap();
    let last = findings.last().unwrap();
    assert_eq!(last["subject"], "noise floor");
    for finding in findings.iter().filter(|one| one["state"] == "bad") {
        assert!(finding["remedy"].is_string(), "{finding}");
    }
}

#[test]
fn bad_findings_fail_the_command_where_that_is_asked_for() {
    for json in [&[][..], &["--json", "-"]] {
        let arguments = [&["--no-floor", "--fail-on", "bad"], json].concat();
        let output = doctor(&arguments);
        let said = text(&output.stdout);
        let is_bad = said.lines().any(|line| line.starts_with("bad"));
        let is_bad = is_bad || said.contains("\"state\": \"bad\"");
        let wanted = if is_bad { 3 } else { 0 };
        assert_eq!(output.status.code(), Some(wanted), "{said}");
    }
}

#[test]
fn what_cannot_be_done_is_one_line() {
    for (arguments, wanted) in [
        (
            &["--json", "no/such/dir/d.json"][..],
            "--json no/such/dir/d.json",
        ),
        (&["--seconds", "0"], "above 0"),
    ] {
        let (_, said) = ended(2, &doctor(arguments));
        says(&said, &[wanted]);
    }
}
