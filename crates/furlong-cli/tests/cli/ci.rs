//! `furlong ci`: a pull request is judged by its benchmarks, within a time.

use std::path::Path;
use std::{env, fs};

use crate::ab_benchmarks::Repository;
use crate::lab::{FURLONG, Home, ended, is_spoiler, read, says};

/// Calls `ci` on two commits, and returns stdout and stderr without warnings about the machine.
fn ci(home: &Home, code: i32, arguments: &[&str]) -> (String, String) {
    let all = [&["ci", "--build", "./build"], arguments].concat();
    let mut furlong = home.furlong(&all);
    furlong.env_remove("GITHUB_BASE_REF");
    let (stdout, stderr) = ended(code, &furlong.output().unwrap());
    let lines = stderr.lines().filter(|line| !is_spoiler(line));
    (stdout, lines.map(|line| format!("{line}\n")).collect())
}

/// The lines of a comment that are not folded.
fn unfolded(comment: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut lines = vec![];
    for line in comment.lines() {
        match line {
            "<details>" => depth += 1,
            "</details>" => depth -= 1,
            _ if depth == 0 => lines.push(line),
            _ => {}
        }
    }
    lines
}

#[test]
fn a_regression_is_named_and_ends_with_3() {
    let Repository(home) = Repository::new([("old", "400", "1"), ("new", "440", "1")]);
    let files = ["--json", "r.json", "--markdown", "r.md"];
    let (stdout, stderr) = ci(
        &home,
        3,
        &[&["main~1", "--budget", "1m"], &files[..]].concat(),
    );
    says(&stderr, &["2 benchmarks, at most 60 s together"]);
    assert!(stdout.lines().count() <= 10, "{stdout}");
    says(
        &stdout,
        &[
            "2 benchmarks: 1 changed, 1 the same, 0 cannot be told",
            "slower: sort/a / b/two, ",
            "only in main~1: sort/c/old",
            "only in HEAD: sort/c/new",
        ],
    );
    let comment = fs::read_to_string(home.path("r.md")).unwrap();
    let lines = unfolded(&comment);
    assert!(lines.len() <= 20, "{comment}");
    assert_eq!(lines[0], "# 1 regression");
    assert!(lines.contains(&"- only in HEAD: sort/c/new"), "{comment}");
    says(&comment, &["| sort/a / b/one | 300", "| **equivalent** |"]);
    let result = read(&home.path("r.json"));
    let experiment = &result.experiments[0];
    assert_eq!(experiment.comparison.as_deref(), Some("ci cargo bench"));
    for workload in &experiment.workloads {
        let params = &workload.params;
        assert_eq!(params["budget_s"], 60.0);
        assert_eq!(params["stopping"]["rule"], "early");
        let planned = params["stopping"]["planned"].as_u64().unwrap();
        assert!(workload.blocks.len() as u64 <= planned);
        assert!(params["blocks_needed"].as_u64().unwrap() >= 12);
    }
    // The other way round it is an improvement.
    let (stdout, _) = ci(
        &home,
        0,
        &["HEAD", "main~1", "--bench", "two", "--html", "r.html"],
    );
    says(&stdout, &["faster: sort/a / b/two, "]);
}

#[test]
fn the_base_is_what_the_ci_names_or_the_last_common_commit() {
    let Repository(home) = Repository::new([("same", "400", "1"), ("same", "400", "1")]);
    let (_, stderr) = ci(&home, 2, &[]);
    says(
        &stderr,
        &[
            "default branch of the remote `origin` is not known",
            "furlong ci main",
        ],
    );
    // A pull request on a branch whose base goes on.
    home.git("checkout --quiet -b topic");
    home.git("commit --quiet --allow-empty --message topic");
    home.git("checkout --quiet main");
    home.git("commit --quiet --allow-empty --message later");
    home.git("clone --quiet . clone");
    let clone = |variables: &[(&str, &str)], code: i32, arguments: &[&str]| {
        let all = [&["ci", "--build", "./build", "--budget", "30"], arguments].concat();
        let mut furlong = home.furlong(&all);
        furlong.current_dir(home.path("clone"));
        furlong
            .env_remove("GITHUB_BASE_REF")
            .envs(variables.iter().copied());
        ended(code, &furlong.output().unwrap()).1
    };
    home.git("-C clone checkout --quiet topic");
    let few = ["--bench", "one"];
    let stderr = clone(&[], 0, &few);
    says(&stderr, &["the last common commit with origin/main"]);
    let mut git = home.command("git");
    let (commit, _) = ended(0, &git.args(["rev-parse", "main~1"]).output().unwrap());
    says(&stderr, &[&format!("base: {}", &commit[..12])]);
    let stderr = clone(&[("GITHUB_BASE_REF", "topic")], 0, &few);
    says(
        &stderr,
        &["the last common commit with origin/topic", "the same files"],
    );
    let stderr = clone(
        &[("CI_MERGE_REQUEST_DIFF_BASE_SHA", commit.trim())],
        0,
        &few,
    );
    says(&stderr, &["which CI_MERGE_REQUEST_DIFF_BASE_SHA names"]);
    let stderr = clone(&[("GITHUB_BASE_REF", "gone")], 2, &few);
    says(&stderr, &["there is no revision `origin/gone` here"]);

    let (from, to) = (home.path(""), home.path("shallow"));
    let (from, to) = (from.display(), to.display());
    home.git(&format!(
        "clone --quiet --depth 1 --branch topic file://{from} {to}"
    ));
    let mut furlong = home.furlong(&["ci", "--build", "./build"]);
    furlong
        .current_dir(home.path("shallow"))
        .env("GITHUB_BASE_REF", "main");
    let (_, stderr) = ended(2, &furlong.output().unwrap());
    says(
        &stderr,
        &["this clone is shallow", "fetch-depth: 0", "GIT_DEPTH: 0"],
    );
}

#[test]
fn what_cannot_be_judged_is_refused_with_a_reason() {
    let Repository(home) = Repository::new([("same", "400", "1"), ("same", "400", "1")]);
    let (_, stderr) = ci(&home, 2, &["main~1", "--budget", "2s"]);
    says(
        &stderr,
        &[
            "--budget 2 s is too short",
            "there are 3",
            "give --budget 9s",
        ],
    );
    let (_, stderr) = ci(&home, 2, &["main~1", "--budget", "soon"]);
    says(&stderr, &["give a time above 0"]);
    // Its samples take longer than a sample should.
    let slow = fs::read_to_string(home.path("sort")).unwrap();
    home.write("sort", slow.replace("noise=", "sleep 1\nnoise="));
    home.git("commit --quiet --all --message slow");
    let (_, stderr) = ci(&home, 2, &["main~1", "--budget", "6s"]);
    says(
        &stderr,
        &["is too short: a verdict needs 6 blocks of every benchmark"],
    );
    home.write("build", "#!/bin/sh\necho broken >&2\nexit 1\n");
    home.git("commit --quiet --all --message broken");
    let (_, stderr) = ci(&home, 1, &["main~1"]);
    says(&stderr, &["HEAD cannot be built", "broken"]);
}

#[test]
fn an_interrupted_run_is_resumed_and_judged() {
    let Repository(home) = Repository::new([("same", "400", "1"), ("same", "440", "1")]);
    home.write("killed", "");
    let (_, stderr) = ci(&home, 130, &["main~1", "--bench", "two"]);
    let (_, id) = stderr.split_once("furlong ci --resume ").unwrap();
    fs::remove_file(home.path("killed")).unwrap();
    let (stdout, _) = home.ends(3, &["ci", "--resume", id.trim()]);
    says(
        &stdout,
        &["1 benchmark: 1 changed", "slower: sort/a / b/two"],
    );
}

/// Files of `examples/ci`, each with a variable that its system sets for a pull request.
const WORKFLOWS: [(&str, &str, &str); 2] = [
    ("github.yml", "GITHUB_BASE_REF", "main"),
    (
        "gitlab.yml",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA",
        "origin/main",
    ),
];

#[test]
fn the_steps_of_the_workflows_judge_a_fresh_clone() {
    let Repository(home) = Repository::new([("same", "400", "1"), ("same", "400", "1")]);
    // Its own `cargo bench --no-run`.
    home.write("Cargo.toml", "");
    home.git("add Cargo.toml");
    home.git("commit --quiet --message package");
    fs::create_dir(home.path("bin")).unwrap();
    fs::copy(home.path("build"), home.path("bin/cargo")).unwrap();
    std::os::unix::fs::symlink(FURLONG, home.path("bin/furlong")).unwrap();
    home.git("checkout --quiet -b topic");
    home.git("commit --quiet --allow-empty --message topic");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci");
    for (file, variable, value) in WORKFLOWS {
        home.git(&format!("clone --quiet . {file}"));
        let text = fs::read_to_string(examples.join(file)).unwrap();
        let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
        let steps: Vec<&str> = lines.filter(|line| line.starts_with("furlong ")).collect();
        assert_eq!(steps.len(), 1, "{file}");
        let path = env::var("PATH").unwrap();
        let mut sh = home.command("sh");
        sh.args(["-ec", steps[0]]).current_dir(home.path(file));
        sh.env_remove("GITHUB_BASE_REF").env(variable, value);
        sh.env("PATH", format!("{}:{path}", home.path("bin").display()));
        let (stdout, _) = ended(0, &sh.output().unwrap());
        says(&stdout, &["3 benchmarks: 0 changed, 3 the same"]);
        let comment = fs::read_to_string(home.path(file).join("comment.md")).unwrap();
        says(&comment, &["# No regression\n"]);
    }
}
