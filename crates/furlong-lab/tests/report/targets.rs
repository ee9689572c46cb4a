//! Destinations of reports.
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use furlong_lab::report::{Targets, json};
use tempfile::TempDir;

use crate::odd;

fn to_json(path: impl Into<PathBuf>) -> Targets {
    Targets {
        json: Some(path.into()),
        ..Targets::default()
    }
}

fn refusal(targets: &Targets) -> String {
    targets
        .check()
        .expect_err("it should be refused")
        .to_string()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn wanted() -> String {
    json::render(&odd::named("compare"))
}

fn write(targets: &Targets) {
    targets.check().expect("it can be written");
    targets
        .write(&odd::named("compare"))
        .expect("it is written");
}

#[test]
fn every_form_is_written_and_nothing_else_is_left() {
    let folder = folder();
    let path = |name: &str| Some(folder.path().join(name));
    let targets = Targets {
        json: path("a.json"),
        csv: path("a.csv"),
        markdown: path("a.md"),
        html: path("a.html"),
        junit: path("a.xml"),
        export_json: path("b.json"),
        export_csv: path("b.csv"),
        export_markdown: path("b.md"),
        ..Targets::default()
    };
    targets.check().expect("they can be written");
    assert!(
        entries(folder.path()).is_empty(),
        "checking leaves nothing behind"
    );
    write(&targets);
    assert_eq!(
        entries(folder.path()),
        [
            "a.csv", "a.html", "a.json", "a.md", "a.xml", "b.csv", "b.json", "b.md"
        ]
    );
    assert_eq!(
        fs::read_to_string(folder.path().join("a.json")).expect("text"),
        wanted()
    );
    assert!(!targets.uses_stdout());
}

#[test]
fn a_place_that_cannot_take_a_report_is_refused_with_its_reason() {
    let folder = folder();
    let file = folder.path().join("file");
    File::create(&file).expect("a file");
    let missing = refusal(&to_json(folder.path().join("nowhere/r.json")));
    assert!(
        missing.starts_with("--json ") && missing.contains("there is no folder"),
        "{missing}"
    );
    assert!(refusal(&to_json(folder.path())).contains("this is a folder"));
    assert!(refusal(&to_json("..")).contains("this is a folder"));
    assert!(refusal(&to_json("")).contains("this is a folder"));
    let below = refusal(&to_json(file.join("r.json")));
    assert!(
        below.contains("cannot be written") && !below.contains("os error"),
        "{below}"
    );
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    symlink(&one, &other).expect("a link");
    symlink(&other, &one).expect("a link");
    assert!(refusal(&to_json(&one)).contains("circle"));
    for text in [missing, below] {
        assert_eq!(text.lines().count(), 1);
    }
}

#[test]
fn two_reports_in_one_place_are_refused() {
    let folder = folder();
    let html = Some(folder.path().join("./x"));
    let targets = Targets {
        html,
        ..to_json(folder.path().join("x"))
    };
    assert!(refusal(&targets).contains("--json goes there already"));
    let targets = Targets {
        csv: Some("/dev/stdout".into()),
        ..to_json("-")
    };
    assert!(refusal(&targets).contains("--json goes there already"));
    assert!(targets.uses_stdout());
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
    let folder = folder();
    let path = folder.path().join("r.json");
    fs::write(&path, "x".repeat(1_000_000)).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("permissions");
    let mut before = File::open(&path).expect("a file");
    write(&to_json(&path));
    assert_eq!(fs::read_to_string(&path).expect("text"), wanted());
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let mut old = String::new();
    before.read_to_string(&mut old).expect("text");
    assert_eq!(
        old.len(),
        1_000_000,
        "who reads the old file sees nothing of the new one"
    );
    assert_eq!(entries(folder.path()), ["r.json"]);
}

#[test]
fn checking_changes_nothing_in_a_file_that_is_there() {
    let folder = folder();
    let path = folder.path().join("r.json");
    fs::write(&path, "before").expect("a file");
    to_json(&path).check().expect("it can be written");
    assert_eq!(fs::read_to_string(&path).expect("text"), "before");
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let folder = folder();
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    symlink("target", &link).expect("a link");
    write(&to_json(&link));
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(fs::read_to_string(&target).expect("text"), wanted());
}

#[test]
fn a_pipe_is_written_through() {
    let folder = folder();
    let path = folder.path().join("pipe");
    let made = Command::new("mkfifo")
        .arg(&path)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
    let targets = to_json(&path);
    targets
        .check()
        .expect("checking does not wait for a reader");
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::read_to_string(path).expect("text")
    });
    targets
        .write(&odd::named("compare"))
        .expect("it is written");
    assert_eq!(reader.join().expect("the reader ends"), wanted());
}

#[test]
fn an_open_descriptor_is_written_through() {
    let folder = folder();
    let path = folder.path().join("r.json");
    let mut open = OpenOptions::new();
    let file = open
        .read(true)
        .append(true)
        .create(true)
        .open(&path)
        .expect("a file");
    write(&to_json(format!("/dev/fd/{}", file.as_raw_fd())));
    assert_eq!(fs::read_to_string(&path).expect("text"), wanted());
}

#[test]
fn one_target_that_fails_does_not_stop_the_others() {
    let folder = folder();
    let gone = folder.path().join("gone");
    fs::create_dir(&gone).expect("a folder");
    let markdown = folder.path().join("r.md");
    let targets = Targets {
        markdown: Some(markdown.clone()),
        ..to_json(gone.join("r.json"))
    };
    targets.check().expect("they can be written");
    fs::remove_dir(&gone).expect("it is empty");
    let failed = targets
        .write(&odd::named("compare"))
        .expect_err("one fails");
    let told = failed.message.matches("there is no folder").count();
    assert_eq!(told, 1, "{failed}");
    assert!(markdown.is_file());
}

#[test]
fn a_device_that_is_full_is_named() {
    let targets = to_json("/dev/full");
    targets.check().expect("it opens");
    let failed = targets
        .write(&odd::named("compare"))
        .expect_err("it is full");
    assert!(failed.message.contains("No space left"), "{failed}");
}
