//! Hostile environments of a run, and the failures that they must not cause.
#![forbid(unsafe_code)]

mod lab;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use lab::{EXPERIMENT, Home, is_spoiler, read, text};

/// A short run of a few blocks.
const SHORT: [&str; 8] = [
    "run",
    EXPERIMENT,
    "--profile",
    "smoke",
    "--workloads",
    "plain",
    "--blocks",
    "2",
];

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
    let mut run = home.furlong(&SHORT);
    run.arg("--json").arg(&json).arg("--db").arg(&db);
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
    fs::copy(cargo_bin("furlong"), &program).unwrap();
    impostor(&other);
    let mut run = Command::new(&program);
    run.args(&SHORT[..6])
        .args(["--blocks", "40", "--json", "r.json"]);
    run.current_dir(home.path(""))
        .env("XDG_DATA_HOME", home.path("data"));
    let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    while !home.path("data/furlong/furlong.db").exists() {
        thread::sleep(Duration::from_millis(1));
    }
    fs::rename(&other, &program).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("impostor"), "{said}");
    let result = read(&home.path("r.json"));
    assert_eq!(result.experiments[0].workloads[0].blocks.len(), 40);
}

/// Runs with a file size limit of 4 KiB: the launcher fits, a database or a report does not.
fn limited(home: &Home, more: &str) -> (Option<i32>, String, String) {
    let program = cargo_bin("furlong");
    let script = format!(
        "ulimit -f 8; exec '{}' {} {more}",
        program.display(),
        SHORT.join(" ")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.path(""));
    shell.env("XDG_DATA_HOME", home.path("data"));
    let output = shell.env_remove("FURLONG_DB").output().unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_limit_on_the_size_of_files_ends_the_file_and_not_the_run() {
    let home = Home::new();
    let (code, stdout, stderr) = limited(&home, "--html none");
    assert_eq!(code, Some(0), "the store alone failed: {stderr}");
    assert!(stdout.contains("inconclusive"), "{stdout}");
    assert!(stderr.contains("this run is not stored"), "{stderr}");
    let (code, stdout, stderr) = limited(&home, "--db none --json r.json");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("inconclusive"), "{stdout}");
    assert!(
        stderr.contains("r.json") && stderr.contains("File too large"),
        "{stderr}"
    );
    assert!(!home.path("r.json").exists(), "no half of a file is left");
}

#[test]
fn a_margin_that_nothing_exceeds_is_refused() {
    let home = Home::new();
    let (_, stderr) = home.ends(2, &["run", EXPERIMENT, "--margin", "5000"]);
    assert!(stderr.contains("from 0 to 1000"), "{stderr}");
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
