//! `furlong peers linux` if it cannot build: it prints the reason in one line, and leaves nothing
//! behind.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use furlong_lab::record::place::cache_dir;
use furlong_peers::linux;
use tempfile::TempDir;

/// The files taken from an archive of Linux, besides its Makefile.
const FILES: [&str; 8] = [
    "lib/maple_tree.c",
    "lib/rbtree.c",
    "drivers/iommu/iova.c",
    "include/linux/maple_tree.h",
    "include/linux/rbtree.h",
    "include/linux/rbtree_types.h",
    "include/linux/rbtree_augmented.h",
    "include/linux/iova.h",
];

/// A folder for archives, and a cache of its own.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is a place for files"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An archive of a made-up Linux of that version with these files, all with the same text.
    fn archive(&self, version: (u32, u32), files: &[&str], text: &str) -> PathBuf {
        let tree = self.path("linux-made-up");
        let put = |file: &str, text: &str| {
            let path = tree.join(file);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
            fs::write(path, text).expect("it is written");
        };
        let (version, patch) = version;
        let makefile = format!("VERSION = {version}\nPATCHLEVEL = {patch}\nSUBLEVEL = 7\n");
        put("Makefile", &makefile);
        for file in files {
            put(file, text);
        }
        // Other folders have files of the same name, which must not be taken.
        put("tools/include/linux/rbtree.h", "#error not this one\n");
        let archive = self.path("linux.tar");
        let mut tar = Command::new("tar");
        tar.arg("--create").arg("--file").arg(&archive);
        tar.arg("--directory")
            .arg(self.0.path())
            .arg("linux-made-up");
        assert!(tar.status().expect("there is `tar`").success());
        archive
    }

    fn furlong(&self, from: &Path) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
        command.args(["peers", "linux", "--from"]).arg(from);
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command.output().expect("the command is built")
    }

    /// Checks that the command ends with that code, and that the cache is unchanged. Returns the
    /// last line of its output.
    fn refuses(&self, code: i32, from: &Path) -> String {
        let output = self.furlong(from);
        let said = String::from_utf8(output.stderr).expect("it says text");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(output.stdout.is_empty());
        let built = self.path("cache/furlong/linux");
        let left: Vec<_> = fs::read_dir(built)
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        let is_new = |entry: &&fs::DirEntry| entry.path() != self.home();
        assert!(!left.iter().any(|entry| is_new(&entry)), "{left:?}");
        let last = said.lines().last().expect("it says why");
        last.to_owned()
    }

    /// The directory of the library.
    fn home(&self) -> PathBuf {
        let library = linux::path().expect("the tests have a home");
        let cache = cache_dir().expect("the tests have a home");
        let below = library.strip_prefix(cache).expect("it is in the cache");
        let below = below.parent().expect("it is in a folder");
        self.path("cache/furlong").join(below)
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let home = Home::new();
    let said = home.refuses(2, &home.path("nowhere.tar.xz"));
    assert!(said.contains("there is no file"), "{said}");
    assert!(said.contains("nowhere.tar.xz"), "{said}");
}

#[test]
fn what_is_no_archive_is_refused() {
    let home = Home::new();
    let file = home.path("linux.tar.xz");
    fs::write(&file, "no archive\n").expect("it is written");
    let said = home.refuses(2, &file);
    assert!(
        said.contains("not a complete archive of Linux's sources"),
        "{said}"
    );
}

#[test]
fn another_version_is_refused_by_its_number() {
    let home = Home::new();
    let said = home.refuses(2, &home.archive((6, 12), &FILES, ""));
    assert!(
        said.contains("is of Linux 6.12.7, and this builds 6.1"),
        "{said}"
    );
    assert!(
        said.contains("`apt-get install linux-source-6.1`"),
        "{said}"
    );
}

#[test]
fn a_file_that_an_archive_lacks_is_named() {
    let home = Home::new();
    let all_but_one: Vec<&str> = FILES
        .into_iter()
        .filter(|file| *file != "lib/rbtree.c")
        .collect();
    let said = home.refuses(2, &home.archive((6, 1), &all_but_one, ""));
    assert!(said.contains("lib/rbtree.c is missing"), "{said}");
}

#[test]
fn what_does_not_compile_is_told_by_its_first_error() {
    let home = Home::new();
    // An older library stays.
    let library = home.home().join("libfurlong_linux.so");
    fs::create_dir_all(home.home()).expect("it is made");
    fs::write(&library, "built before").expect("it is written");
    // The folder of a killed process is removed: no process has this number.
    fs::create_dir(home.path("cache/furlong/linux/building-0")).expect("it is made");
    let said = home.refuses(1, &home.archive((6, 1), &FILES, "#error no Linux\n"));
    assert!(said.contains("does not compile Linux's files: "), "{said}");
    assert!(said.contains("error: #error no Linux"), "{said}");
    assert!(
        !said.contains("building-"),
        "it names no folder that is gone: {said}"
    );
    assert_eq!(
        fs::read_to_string(&library).expect("it is there"),
        "built before"
    );
}

#[test]
fn a_machine_without_a_compiler_is_told_what_to_install() {
    let home = Home::new();
    let archive = home.archive((6, 1), &FILES, "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
    command.args(["peers", "linux", "--from"]).arg(&archive);
    command
        .env("XDG_CACHE_HOME", home.path("cache"))
        .env("CC", "no-such-compiler");
    let output = command.output().expect("the command is built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`apt-get install gcc`"), "{said}");
}

#[test]
fn without_a_library_the_arms_say_what_builds_it() {
    let home = Home::new();
    let json = home.path("result.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_furlong-peers"));
    command.args([
        "run",
        "tree-order",
        "--workloads",
        "ins",
        "--profile",
        "smoke",
    ]);
    command.args([
        "--arms",
        "btreemap,linux-rbtree",
        "--db",
        "none",
        "--html",
        "none",
        "--json",
    ]);
    command.arg(&json).env("XDG_CACHE_HOME", home.path("cache"));
    let output = command.output().expect("the command is built");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result = fs::read_to_string(json).expect("the result is there");
    assert!(result.contains(linux::MISSING), "{result}");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains(linux::MISSING), "{page}");
}
