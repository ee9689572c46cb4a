//! `furlong ab`: revisions of a repository, their builds, and what goes wrong with them.

use std::fs;

use crate::lab::{Home, ended, is_spoiler, read, says};

/// A home with a repository in which the second commit is slower than the first.
struct Repository(Home);

impl Repository {
    fn new() -> Self {
        let here = Self(Home::new());
        here.0.git("init --quiet --initial-branch main");
        for seconds in ["0.01", "0.03"] {
            here.0
                .write("work", format!("#!/bin/sh\nsleep {seconds}\ncat input\n"));
            here.0.write("input", "some\n");
            here.commit(seconds);
        }
        here
    }

    fn commit(&self, message: &str) {
        ended(
            0,
            &self
                .0
                .command("chmod")
                .args(["+x", "work"])
                .output()
                .unwrap(),
        );
        self.0.git("add work input");
        self.0.git(&format!("commit --quiet --message {message}"));
    }

    /// Calls `ab` and returns stdout and stderr without warnings about the machine.
    fn ab(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let (stdout, stderr) = self.0.ends(code, &[&["ab"], arguments].concat());
        let lines = stderr.lines().filter(|line| !is_spoiler(line));
        (stdout, lines.map(|line| format!("{line}\n")).collect())
    }

    /// The folders of its checkouts, and the files beside them.
    fn cached(&self) -> Vec<String> {
        let repositories = fs::read_dir(self.0.path("cache/furlong/ab")).unwrap();
        let entries = repositories.flat_map(|one| fs::read_dir(one.unwrap().path()).unwrap());
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

#[test]
fn a_slower_revision_is_called_slower_and_each_is_built_once() {
    let here = Repository::new();
    let build = "echo one >> $HOME/builds";
    let call = [
        "main~1", "--build", build, "--json", "r.json", "--", "./work",
    ];
    let (stdout, stderr) = here.ab(0, &call);
    says(&stderr, &["building main~1 (", "building HEAD (", build]);
    says(&stdout, &["slower: HEAD takes ", "main~1"]);
    assert!(stdout.lines().count() <= 10, "{stdout}");
    assert_eq!(here.0.lines("builds").len(), 2);
    let result = read(&here.0.path("r.json"));
    let workload = &result.experiments[0].workloads[0];
    let commits = &workload.params["revisions"];
    assert_ne!(commits["base"], commits["head"]);
    assert_eq!(commits["head"].as_str().map(str::len), Some(40));
    assert_eq!(
        result.experiments[0].comparison.as_deref(),
        Some("ab ./work")
    );

    let (_, stderr) = here.ab(
        3,
        &[
            "main~1",
            "HEAD",
            "--build",
            build,
            "--fail-on",
            "revert",
            "--",
            "./work",
        ],
    );
    assert!(!stderr.contains("building"), "{stderr}");
    assert_eq!(here.0.lines("builds").len(), 2);
    // Another way to build makes another checkout.
    here.ab(
        0,
        &["HEAD", "--build", "true", "--blocks", "2", "--", "./work"],
    );
    let folders = here.cached();
    assert_eq!(
        folders
            .iter()
            .filter(|name| name.ends_with(".built"))
            .count(),
        3
    );
}

#[test]
fn the_same_files_are_noise_and_changes_without_a_commit_are_told() {
    let here = Repository::new();
    let measure = ["--build", "true", "--blocks", "2", "--", "./work"];
    let (_, stderr) = here.ab(0, &[&["HEAD"], &measure[..]].concat());
    says(&stderr, &["both revisions have the same files"]);
    here.0.write("work", "#!/bin/sh\nexit 1\n");
    let (_, stderr) = here.ab(0, &[&["HEAD~1"], &measure[..]].concat());
    says(
        &stderr,
        &["changes that are not committed are not measured"],
    );
    let quiet = [
        "HEAD~1", "--build", "true", "--blocks", "2", "-q", "--", "./work",
    ];
    assert_eq!(here.ab(0, &quiet).1, "");
}

#[test]
fn a_command_line_is_one_argument_or_many_and_input_is_found_from_here() {
    let here = Repository::new();
    let measure = |more: &[&str]| {
        let all = [&["HEAD~1", "--build", "true", "--blocks", "2"], more].concat();
        here.ab(0, &all);
    };
    measure(&["--", "./work && cat input"]);
    measure(&["--", "./work", "a b", "$c"]);
    here.0.write("numbers", "5\n");
    measure(&["--input", "numbers", "--", "grep", "5"]);
    measure(&["--prepare", "test -x work", "--", "./work"]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_reason() {
    let here = Repository::new();
    let refused = |arguments: &[&str]| here.ab(2, arguments).1;
    says(
        &refused(&["nonsense", "--", "./work"]),
        &["there is no revision `nonsense`"],
    );
    says(&refused(&["--", "./work"]), &["<BASE>"]);
    says(&refused(&["HEAD~1"]), &["there is no Cargo.toml"]);
    says(
        &refused(&["HEAD~1", "--", "./work"]),
        &["HEAD~1 has no Cargo.toml", "--build"],
    );
    says(
        &refused(&["HEAD~1", "--build", "true", "--", "./nothing"]),
        &["there is no program", "nothing"],
    );
    let (_, stderr) = here.ab(
        1,
        &["HEAD~1", "--build", "echo a reason; false", "--", "./work"],
    );
    says(&stderr, &["HEAD~1 cannot be built", "a reason"]);
    // A failed build is tried again.
    here.ab(
        0,
        &[
            "HEAD~1",
            "--build",
            "test -x work",
            "--blocks",
            "2",
            "--",
            "./work",
        ],
    );

    let alone = Home::new();
    let mut ab = alone.furlong(&["ab", "HEAD", "--", "true"]);
    let output = ab.env("GIT_CEILING_DIRECTORIES", "/").output().unwrap();
    says(&ended(2, &output).1, &["call it inside one"]);
}

#[test]
fn a_checkout_that_a_killed_call_left_behind_is_made_whole() {
    let here = Repository::new();
    let measure = [
        "HEAD~1",
        "--build",
        "test -s work",
        "--blocks",
        "2",
        "--",
        "./work",
    ];
    here.ab(0, &measure);
    let in_cache = |name: &str| {
        let mut repositories = fs::read_dir(here.0.path("cache/furlong/ab")).unwrap();
        repositories.next().unwrap().unwrap().path().join(name)
    };
    for name in here.cached() {
        match name.strip_suffix(".built") {
            // As if it were killed while it wrote the files, and git its own.
            Some(folder) => {
                let lost = in_cache(folder).join("work");
                fs::remove_file(in_cache(&name)).unwrap();
                fs::write(lost, "").unwrap();
            }
            None => continue,
        }
    }
    here.ab(0, &measure);
    for name in here.cached() {
        if let Some(folder) = name.strip_suffix(".built") {
            fs::remove_file(in_cache(&name)).unwrap();
            fs::remove_file(in_cache(folder).join(".git")).unwrap();
            fs::remove_file(in_cache(folder).join("work")).unwrap();
        }
    }
    here.ab(0, &measure);
}

#[test]
fn the_eight_checkouts_used_last_are_kept() {
    let here = Repository::new();
    for number in 0..9 {
        here.0.write("input", number.to_string());
        here.commit("next");
        here.ab(
            0,
            &[
                "HEAD",
                "--build",
                "true",
                "--blocks",
                "2",
                "--",
                "cat input",
            ],
        );
    }
    let built = here
        .cached()
        .into_iter()
        .filter(|name| name.ends_with(".built"));
    assert_eq!(built.count(), 8);
}

#[test]
fn the_users_own_checkouts_stay_as_they_are() {
    let here = Repository::new();
    here.0.git("worktree add --quiet --detach own main");
    // As on a disk that is not mounted.
    fs::rename(here.0.path("own"), here.0.path("away")).unwrap();
    let call = ["main", "--build", "true", "--blocks", "1", "--", "./work"];
    here.ab(0, &call);
    fs::rename(here.0.path("away"), here.0.path("own")).unwrap();
    here.0.git("-C own status");

    // A checkout that git had begun to add when it was killed.
    let worktrees = here.0.path(".git/worktrees");
    for one in fs::read_dir(worktrees).unwrap() {
        fs::write(one.unwrap().path().join("locked"), "initializing").unwrap();
    }
    fs::remove_dir_all(here.0.path("cache")).unwrap();
    here.ab(0, &call);
}

#[test]
fn a_hook_keeps_its_index_and_a_build_finds_its_own_checkout() {
    let here = Repository::new();
    let own = "git rev-parse --git-dir | grep worktrees";
    let call = [
        "ab", "main", "main~1", "--build", own, "--blocks", "1", "--", "./work",
    ];
    let mut hook = here.0.furlong(&call);
    hook.env("GIT_INDEX_FILE", here.0.path(".git/index"));
    hook.env("GIT_DIR", here.0.path(".git"));
    ended(0, &hook.output().unwrap());
    here.0.git("diff --cached --quiet");
}

#[test]
fn the_checkout_of_a_failed_build_is_removed_and_its_log_is_short() {
    let here = Repository::new();
    let build = "echo reason; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end; false";
    let (_, stderr) = here.ab(1, &["HEAD~1", "--build", build, "--", "./work"]);
    says(&stderr, &["cannot be built", "xxx", "\nend"]);
    assert!(stderr.len() < 2000, "{} bytes", stderr.len());
    let mut ends: Vec<String> = here.cached();
    ends.iter_mut()
        .for_each(|name| *name = name.split_off(name.rfind('.').unwrap_or(0)));
    ends.sort();
    assert_eq!(ends, [".lock", ".log"]);
    assert_eq!(
        fs::read_dir(here.0.path(".git/worktrees")).map_or(0, Iterator::count),
        0
    );
}

#[test]
fn each_side_is_built_in_its_checkout_whatever_place_the_user_has_for_all() {
    let here = Repository::new();
    let build = "echo $CARGO_TARGET_DIR$CARGO_BUILD_TARGET_DIR > where";
    let call = [
        "ab", "HEAD~1", "--build", build, "--blocks", "1", "--", "./work",
    ];
    let mut ab = here.0.furlong(&call);
    ab.env("CARGO_BUILD_TARGET_DIR", "/one/for/all");
    ended(0, &ab.output().unwrap());
    let repositories = fs::read_dir(here.0.path("cache/furlong/ab")).unwrap();
    let entries = repositories.flat_map(|one| fs::read_dir(one.unwrap().path()).unwrap());
    let folders = entries.map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.is_dir());
    let wheres = folders.map(|folder| fs::read_to_string(folder.join("where")).unwrap());
    let wheres: Vec<String> = wheres.collect();
    assert_eq!(wheres, ["\n"; 2]);
}
