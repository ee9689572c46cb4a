//! Comparisons that are stopped and resumed.
#![forbid(unsafe_code)]

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::place::{Place, only, refusal, said, values};

/// Waits until a condition holds, for a minute at most.
fn comes_true(condition: impl Fn() -> bool) -> bool {
    (0..6000).any(|_| {
        condition() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }
    })
}

/// The run that can be resumed, from furlong's messages or from the database.
fn run_id(place: &Place) -> String {
    let show = Command::new(env!("CARGO_BIN_EXE_furlong"))
        .args(["show", "--json", "shown.json"])
        .env("FURLONG_DB", place.path("runs.db"))
        .current_dir(place.0.path())
        .output()
        .expect("furlong starts");
    assert!(show.status.success(), "{}", said(&show));
    place.read("shown.json").run.id
}

/// Starts a comparison of eight blocks, and sends it a signal in the fourth.
fn disturbed(place: &Place, signal: &str) -> Output {
    let log = "sh -c 'echo x >> log; sleep 0.05'";
    let mut child = place.compare(&[log, log, "--blocks", "8", "--seed", "3", "--quiet"]);
    let child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    assert!(comes_true(|| place.lines("log").len() > 3 * 3 + 1));
    let pid = child.id().to_string();
    let killed = Command::new("kill")
        .args([signal, &pid])
        .status()
        .expect("kill starts");
    assert!(killed.success());
    child.wait_with_output().expect("it ends")
}

/// Resumes it, and checks that no finished block was lost or measured twice.
fn resumed(place: &Place) {
    let before = place.lines("log").len();
    let id = run_id(place);
    let kept = only(&place.read("shown.json")).clone();
    assert!(kept.blocks.len() >= 3, "{:?}", kept.blocks);
    let result = place.result(&["--resume", &id]);
    let workload = only(&result);
    assert_eq!(workload.blocks, [1, 2, 3, 4, 5, 6, 7, 8]);
    let finished = kept.blocks.len();
    assert_eq!(workload.order[..finished], kept.order[..]);
    for (arm, before) in workload.arms.iter().zip(&kept.arms) {
        assert_eq!(
            values(arm, "wall_s")[..finished],
            values(before, "wall_s")[..]
        );
    }
    let measured = place.lines("log").len() - before;
    assert_eq!(
        measured,
        3 * (8 - finished),
        "only what was missing is measured"
    );
}

#[test]
fn a_killed_comparison_goes_on_where_it_was() {
    let place = Place::new();
    let output = disturbed(&place, "-KILL");
    assert_eq!(output.status.code(), None);
    resumed(&place);
}

#[test]
fn an_interrupted_comparison_says_how_to_go_on() {
    let place = Place::new();
    let (code, line) = refusal(&disturbed(&place, "-INT"));
    assert_eq!(code, Some(130), "{line}");
    assert!(line.contains("furlong compare --resume"), "{line}");
    resumed(&place);
}

#[test]
fn what_is_no_comparison_cannot_be_resumed_as_one() {
    let place = Place::new();
    let (code, line) = refusal(&place.run(&["--resume", "abc"]));
    assert_eq!(code, Some(2), "{line}");
    let (code, line) = refusal(&place.run(&["true", "true", "--resume", "abc"]));
    assert_eq!(code, Some(2), "{line}");
}
