//! `--peers`: the command continues as another binary, but only as a matching one.

use crate::lab::{FURLONG, Home, ended, says};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Copies an executable in another process. In this process, a fork by another thread could inherit
/// the file open for writing, and the copy could not be executed.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-p").args([from, to]).status();
    assert!(status.unwrap().success());
}

/// A folder with a copy of furlong.
struct Folder(Home);

impl Folder {
    fn new() -> Folder {
        let home = Home::new();
        let here = home.path("furlong");
        // The folder may be on another file system.
        if fs::hard_link(FURLONG, &here).is_err() {
            copy(Path::new(FURLONG), &here);
        }
        Folder(home)
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
        let written = self.0.path("script");
        fs::write(&written, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).unwrap();
        copy(&written, &self.0.path("furlong-peers"));
        self
    }

    /// Runs, checks the exit code, and returns stdout and stderr.
    fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let mut command = self.0.command(self.0.path("furlong"));
        ended(code, &command.args(arguments).output().unwrap())
    }

    /// Checks that it is refused as bad usage, and returns the one line with the reason.
    fn refuses(&self, arguments: &[&str]) -> String {
        let (stdout, stderr) = self.ends(2, arguments);
        assert_eq!((stdout.len(), stderr.lines().count()), (0, 1));
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
        // Its exit code is the command's.
        let (stdout, _) = folder.ends(3, arguments);
        assert_eq!(stdout, format!("peers: {}\n", arguments.join(" ")));
    }
}

#[test]
fn without_the_option_nobody_is_asked() {
    let (stdout, _) = Folder::new().peers("0.0.0").ends(0, &["list"]);
    says(&stdout, &["tree-order"]);
}

#[test]
fn a_missing_binary_is_refused_with_the_command_that_builds_it() {
    let said = Folder::new().refuses(&["run", "--peers", "tree-order"]);
    says(&said, &["cargo build", "-p furlong-peers`"]);
}

#[test]
fn a_binary_of_another_build_is_refused() {
    let said = Folder::new()
        .peers("0.0.1 (0123abc)")
        .refuses(&["run", "--peers"]);
    says(&said, &["0.0.1 (0123abc)", "-p furlong-peers`"]);
}

#[test]
fn a_binary_that_says_no_version_is_refused() {
    let folder = Folder::new().script("exit 9");
    says(&folder.refuses(&["list", "--peers"]), &["another build"]);
}
