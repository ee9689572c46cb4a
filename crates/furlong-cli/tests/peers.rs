//! `--peers`: the command continues as another binary, but only as a matching one.
#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

/// Copies an executable in another process. In this process, a fork by another thread could inherit
/// the file open for writing, and the copy could not be executed.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-p").args([from, to]).status();
    assert!(status.unwrap().success());
}

/// A folder with a copy of furlong.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let (built, here) = (cargo_bin("furlong"), folder.path().join("furlong"));
        // The folder may be on another file system.
        if fs::hard_link(&built, &here).is_err() {
            copy(&built, &here);
        }
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A binary with the peers that reports this version, and then its arguments.
    fn peers(self, version: &str) -> Folder {
        self.script(&format!(
            "[ \"$1\" = --version ] && echo 'furlong {version}' && exit\n\
             echo \"peers: $*\"; exit 3"
        ))
    }

    /// A shell script in place of the binary with the peers.
    fn script(self, script: &str) -> Folder {
        let written = self.path("script");
        fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
        copy(&written, &self.path("furlong-peers"));
        self
    }

    fn furlong(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path("furlong"));
        command.args(arguments).current_dir(self.0.path());
        command.env("XDG_DATA_HOME", self.path("data"));
        command.env_remove("FURLONG_DB").output().unwrap()
    }

    /// Checks that it is refused as bad usage, and returns the one line with the reason.
    fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.furlong(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!((output.stdout.len(), stderr.lines().count()), (0, 1));
        stderr
    }
}

fn version() -> String {
    furlong_lab::record::build::version()
}

#[test]
fn the_same_arguments_go_to_the_binary_beside_this_one() {
    let folder = Folder::new().peers(&version());
    let verbs: [&[&str]; 2] = [&["run", "--peers", "--note", "a b"], &["--peers", "list"]];
    for arguments in verbs {
        let output = folder.furlong(arguments);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout, format!("peers: {}\n", arguments.join(" ")));
        assert_eq!(
            output.status.code(),
            Some(3),
            "its exit code is the command's"
        );
    }
}

#[test]
fn without_the_option_nobody_is_asked() {
    let output = Folder::new().peers("0.0.0").furlong(&["list"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && stdout.contains("tree-order"),
        "{stdout}"
    );
}

#[test]
fn a_missing_binary_is_refused_with_the_command_that_builds_it() {
    let said = Folder::new().refuses(&["run", "--peers", "tree-order"]);
    assert!(said.contains("cargo build"), "{said}");
    assert!(said.contains("-p furlong-peers`"), "{said}");
}

#[test]
fn a_binary_of_another_build_is_refused() {
    let said = Folder::new()
        .peers("0.0.1 (0123abc)")
        .refuses(&["run", "--peers"]);
    assert!(said.contains("0.0.1 (0123abc)"), "{said}");
    assert!(said.contains("-p furlong-peers`"), "{said}");
}

#[test]
fn a_binary_that_says_no_version_is_refused() {
    let folder = Folder::new().script("exit 9");
    assert!(
        folder
            .refuses(&["list", "--peers"])
            .contains("another build")
    );
}
