//! Destinations of reports.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use furlong_lab::report::{Exports, Targets, json};
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
    tempfile::tempdir().unwrap()
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn wanted() -> String {
    json::render(&odd::named("compare"))
}

fn write(targets: &Targets) {
    targets.check().unwrap();
    targets.write(&odd::named("compare")).unwrap();
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
        exports: Exports {
            export_json: path("b.json"),
            export_csv: path("b.csv"),
            export_markdown: path("b.md"),
            ..Exports::default()
        },
    };
    targets.check().unwrap();
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
        fs::read_to_string(folder.path().join("a.json")).unwrap(),
        wanted()
    );
    assert!(!targets.uses_stdout());
}

#[test]
fn a_place_that_cannot_take_a_report_is_refused_with_its_reason() {
    let folder = folder();
    let file = folder.path().join("file");
    File::create(&file).unwrap();
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
    symlink(&one, &other).unwrap();
    symlink(&other, &one).unwrap();
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
    fs::write(&path, "x".repeat(1_000_000)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let mut before = File::open(&path).unwrap();
    write(&to_json(&path));
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let mut old = String::new();
    before.read_to_string(&mut old).unwrap();
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
    fs::write(&path, "before").unwrap();
    to_json(&path).check().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let folder = folder();
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    symlink("target", &link).unwrap();
    write(&to_json(&link));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), wanted());
}

#[test]
fn a_pipe_is_written_through() {
    let folder = folder();
    let path = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let targets = to_json(&path);
    targets.check().unwrap();
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::read_to_string(path).unwrap()
    });
    targets.write(&odd::named("compare")).unwrap();
    assert_eq!(reader.join().unwrap(), wanted());
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
        .unwrap();
    write(&to_json(format!("/dev/fd/{}", file.as_raw_fd())));
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted());
}

#[test]
fn one_target_that_fails_does_not_stop_the_others() {
    let folder = folder();
    let gone = folder.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let markdown = folder.path().join("r.md");
    let targets = Targets {
        markdown: Some(markdown.clone()),
        ..to_json(gone.join("r.json"))
    };
    targets.check().unwrap();
    fs::remove_dir(&gone).unwrap();
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
    targets.check().unwrap();
    let failed = targets
        .write(&odd::named("compare"))
        .expect_err("it is full");
    assert!(failed.message.contains("No space left"), "{failed}");
}
