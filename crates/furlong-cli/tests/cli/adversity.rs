//! Hostile environments of a run, and the failures that they must not cause.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::lab::{EXPERIMENT, FURLONG, Home, ended, is_spoiler, read, says, text, words};

/// A short run of a few blocks.
const SHORT: &str = "run tree-order --profile smoke --workloads plain --blocks";

/// A name that is not valid UTF-8.
fn odd_name(ending: &str) -> OsString {
    let mut name = b"odd\xff\xfe".to_vec();
    name.extend(ending.as_bytes());
    OsString::from_vec(name)
}

#[test]
fn names_of_files_need_not_be_text() {
    let home = Home::new();
    let (json, db) = (odd_name(".json"), odd_name(".db"));
    let mut run = home.furlong(&words(SHORT));
    run.arg("2").arg("--json").arg(&json).arg("--db").arg(&db);
    let output = run.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = home.path("");
    let result = read(&folder.join(&json));
    assert!(result.run.command.iter().any(|one| one.ends_with(".json")));
    let mut show = home.furlong(&["show"]);
    let output = show.arg("--db").arg(&db).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    // A name that is not valid UTF-8 is refused, with its option.
    let mut show = home.furlong(&["show"]);
    let output = show.arg(OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// An executable that is not furlong.
fn impostor(path: &Path) {
    fs::write(path, "#!/bin/sh\necho impostor >&2\nexit 9\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_build_in_the_middle_of_a_run_is_not_measured() {
    let home = Home::new();
    let (program, other) = (home.path("program"), home.path("other"));
    fs::copy(FURLONG, &program).unwrap();
    impostor(&other);
    let mut run = home.command(&program);
    run.args(words(SHORT)).args(["40", "--json", "r.json"]);
    let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    while !home.path("data/furlong/furlong.db").exists() {
        thread::sleep(Duration::from_millis(1));
    }
    fs::rename(&other, &program).unwrap();
    let output = child.wait_with_output().unwrap();
    let (_, said) = ended(0, &output);
    assert!(!said.contains("impostor"), "{said}");
    let result = read(&home.path("r.json"));
    assert_eq!(result.experiments[0].workloads[0].blocks.len(), 40);
}

/// Runs with a file size limit of 8 KiB: the launcher fits, a database or a report does not.
fn limited(home: &Home, code: i32, more: &str) -> (String, String) {
    let script = format!("ulimit -f 16; exec '{FURLONG}' {SHORT} 2 {more}");
    let mut shell = home.command("sh");
    ended(code, &shell.args(["-c", &script]).output().unwrap())
}

#[test]
fn a_limit_on_the_size_of_files_ends_the_file_and_not_the_run() {
    let home = Home::new();
    let (stdout, stderr) = limited(&home, 0, "--html none");
    says(&stdout, &["inconclusive"]);
    says(&stderr, &["this run is not stored"]);
    let (stdout, stderr) = limited(&home, 1, "--db none --json r.json");
    says(&stdout, &["inconclusive"]);
    says(&stderr, &["r.json", "File too large"]);
    assert!(!home.path("r.json").exists(), "no half of a file is left");
}

#[test]
fn a_margin_that_nothing_exceeds_is_refused() {
    let home = Home::new();
    let (_, stderr) = home.ends(2, &["run", EXPERIMENT, "--margin", "5000"]);
    says(&stderr, &["from 0 to 1000"]);
}

#[test]
fn a_run_that_is_not_complete_is_told_even_to_the_quiet() {
    let home = Home::new();
    home.smoke(&[]);
    let database = home.path("data/furlong/furlong.db");
    let store = rusqlite::Connection::open(database).unwrap();
    store
        .execute("UPDATE runs SET status = 'interrupted'", [])
        .unwrap();
    let (_, stderr) = home.ends(0, &["show", "-q"]);
    let said: Vec<&str> = stderr.lines().filter(|line| !is_spoiler(line)).collect();
    assert_eq!(said.len(), 1, "{stderr}");
    assert!(said[0].contains("is not complete: interrupted"), "{stderr}");
}

#[test]
fn a_run_with_the_peers_is_resumed_with_them_only() {
    let home = Home::new();
    let id = home.smoke(&[]).run.id;
    let database = home.path("data/furlong/furlong.db");
    let store = rusqlite::Connection::open(database).unwrap();
    let begun = "UPDATE runs SET status = 'interrupted', command = '[\"--peers\",\"run\"]'";
    store.execute(begun, []).unwrap();
    let said = home.refuses(&["run", "--resume", &id]);
    assert!(
        said.ends_with("started with --peers: resume it with --peers"),
        "{said}"
    );
}
