//! Comparisons that are stopped and resumed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use rustix::process::Signal;

use super::place::{failed, only, values};
use crate::lab::{Home, read, says, send, wait_until};

/// The run that can be resumed, from furlong's messages or from the database.
fn run_id(place: &Home) -> String {
    place.ends(0, &["show", "--json", "shown.json"]);
    read(&place.path("shown.json")).run.id
}

/// Starts a comparison of eight blocks, and sends it a signal in the fourth.
fn disturbed(place: &Home, signal: Signal) -> Output {
    let log = "sh -c 'echo x >> log; sleep 0.05'";
    let mut compare = place.compare(&[log, log, "--blocks", "8", "--seed", "3", "--quiet"]);
    let child = compare.spawn().unwrap();
    wait_until("the fourth block", || place.lines("log").len() > 3 * 3 + 1);
    send(&child, signal);
    child.wait_with_output().unwrap()
}

/// Resumes it, and checks that no finished block was lost or measured twice.
fn resumed(place: &Home) {
    let before = place.lines("log").len();
    let id = run_id(place);
    let kept = only(&read(&place.path("shown.json"))).clone();
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
    let place = Home::new();
    let output = disturbed(&place, Signal::KILL);
    assert_eq!(output.status.code(), None);
    // Its commands may use the files of the folder in which it began.
    let id = run_id(&place);
    let mut elsewhere = place.furlong(&["compare", "--resume", &id]);
    let refused = elsewhere.current_dir(place.path("data")).output().unwrap();
    says(
        &failed(2, &refused),
        &["this run began in", "resume it there"],
    );
    resumed(&place);
}

#[test]
fn an_interrupted_comparison_says_how_to_go_on() {
    let place = Home::new();
    let line = failed(130, &disturbed(&place, Signal::INT));
    says(&line, &["furlong compare --resume"]);
    resumed(&place);
}

#[test]
fn what_is_no_comparison_cannot_be_resumed_as_one() {
    let place = Home::new();
    place.fails(2, &["--resume", "abc"]);
    place.fails(2, &["true", "true", "--resume", "abc"]);
}

#[test]
fn a_comparison_of_programs_that_changed_is_not_resumed() {
    let place = Home::new();
    let program = |text: &str| {
        let path = place.path("work");
        fs::write(
            &path,
            format!("#!/bin/sh\necho {text} >> log; sleep 0.05\n"),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("old");
    let mut compare = place.compare(&["./work", "./work", "--blocks", "8", "--quiet"]);
    let child = compare.spawn().unwrap();
    wait_until("the fourth block", || place.lines("log").len() > 3 * 3 + 1);
    send(&child, Signal::KILL);
    child.wait_with_output().unwrap();
    program("new");
    let line = place.fails(2, &["--resume", &run_id(&place)]);
    says(&line, &["a program of its commands is another one"]);
    program("old");
    place.result(&["--resume", &run_id(&place)]);
}
