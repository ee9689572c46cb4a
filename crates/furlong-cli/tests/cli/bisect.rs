//! `furlong bisect`: a repository in which one commit slows a program, and what goes wrong.

use furlong_lab::measure::launch::callgrind::Callgrind;
use furlong_lab::report::json::BISECT_SCHEMA;
use serde_json::Value;

use crate::lab::{Home, ended, is_spoiler, says, send, text, wait_until};
use rustix::process::Signal;

/// Number of commits after the first one.
const COMMITS: usize = 13;

/// The commit that slows the program.
pub(crate) const SLOW: usize = 8;

/// A commit that cannot be built.
const BROKEN: usize = 6;

/// A home with a repository of a program that prints a figure and takes some time.
struct Repository(Home);

impl Repository {
    /// The program takes these milliseconds at a commit.
    fn new(milliseconds: impl Fn(usize) -> u32) -> Self {
        let here = Self(Home::new());
        commit_all(&here.0, milliseconds);
        here
    }

    /// Calls `bisect` and returns stdout and stderr without warnings about the machine.
    fn bisect(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let build = ["bisect", "--build", "sh ./make"];
        let (stdout, stderr) = self.0.ends(code, &[&build, arguments].concat());
        let lines = stderr.lines().filter(|line| !is_spoiler(line));
        (stdout, lines.map(|line| format!("{line}\n")).collect())
    }

    fn json(&self) -> Value {
        let text = std::fs::read_to_string(self.0.path("r.json")).unwrap();
        let figures = serde_json::from_str(&text).unwrap();
        let mut schema: Value = serde_json::from_str(BISECT_SCHEMA).unwrap();
        // An unknown field is an error.
        schema["additionalProperties"] = false.into();
        jsonschema::validate(&schema, &figures).unwrap();
        figures
    }
}

/// Makes the repository in a home.
pub(crate) fn commit_all(home: &Home, milliseconds: impl Fn(usize) -> u32) {
    home.git("init --quiet --initial-branch main");
    for number in 0..=COMMITS {
        let time = milliseconds(number);
        let program = format!(
            "#!/bin/sh\nsleep 0.0{time:02}\n\
             echo \"took $((100 + $$ % 3)) of {number}, {time} ms\"\n"
        );
        home.write("work", program);
        let works = if number == BROKEN { "false" } else { "true" };
        home.write("make", format!("echo {number} >> $HOME/builds; {works}\n"));
        let mut chmod = home.command("chmod");
        ended(0, &chmod.args(["+x", "work"]).output().unwrap());
        home.git("add work make");
        home.git(&format!("commit --quiet --message number-{number}"));
    }
}

pub(crate) fn first() -> String {
    format!("main~{COMMITS}")
}

#[test]
fn the_commit_that_slows_a_program_is_named() {
    let here = Repository::new(|number| if number < SLOW { 4 } else { 40 });
    let call = [
        &first(),
        "main",
        "--json",
        "r.json",
        "--seed",
        "1",
        "--",
        "./work",
    ];
    let (stdout, stderr) = here.bisect(0, &call);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.len() <= 12, "{stdout}");
    assert!(lines[0].ends_with(&format!("number-{SLOW}")), "{stdout}");
    says(
        &stdout,
        &[
            "wall_s +",
            "95 % set: this commit",
            "13 commits along first parents",
            "record: ",
        ],
    );
    says(&stderr, &["building", "commit 13 of 13"]);
    let result = here.json();
    assert_eq!(result["outcome"], "found");
    assert_eq!(result["candidates"][0]["subject"], format!("number-{SLOW}"));
    assert!(result["candidates"][0]["probability"].as_f64().unwrap() > 0.9);
    assert!(result["step_pct"].as_f64().unwrap() > 100.0, "{stdout}");
    // Both sides of the step were measured for three seconds each.
    assert!(result["seconds"].as_f64().unwrap() > 6.0, "{result}");
    let builds = here.0.lines("builds");
    assert!(builds.len() <= COMMITS, "{builds:?}");
    let blocks = result["blocks"].as_array().unwrap();
    assert_eq!(result["samples"], 3 * blocks.len());
    assert!(blocks.iter().all(|block| block["commit"] != BROKEN));
    // Every build is used again.
    let (again, stderr) = here.bisect(0, &call);
    assert_eq!(
        again.lines().next().unwrap().split("probable: ").nth(1),
        lines[0].split("probable: ").nth(1)
    );
    assert!(!stderr.contains("building main~13 "), "{stderr}");
}

#[test]
fn the_function_that_the_commit_changed_is_named() {
    if Callgrind::new().is_err() {
        return;
    }
    let here = Repository(Home::new());
    here.0.git("init --quiet --initial-branch main");
    for number in 0..4 {
        let rounds = if number < 2 { 4000 } else { 20_000 };
        let program = format!(
            "#include <stdio.h>\n\
             __attribute__((noinline)) int part(int n) {{ int s = n;\n\
             for (int i = 0; i < {rounds}; i++) s = s * 3 ^ i; return s; }}\n\
             int main(void) {{ int s = {number};\n\
             for (int i = 0; i < 200; i++) s += part(s);\n\
             printf(\"{rounds} rounds: %d\\n\", s); return 0; }}\n"
        );
        here.0.write("work.c", program);
        here.0.write("make", "cc -O1 -o work work.c\n");
        here.0.git("add work.c make");
        here.0
            .git(&format!("commit --quiet --message number-{number}"));
    }
    // A figure that repeats exactly names the commit on any machine.
    let figure = "([0-9]+) rounds";
    let call = [
        "main~3", "--json", "r.json", "--metric", figure, "--", "./work",
    ];
    let (stdout, _) = here.bisect(0, &call);
    says(&stdout, &["number-2", "more instructions, by function:"]);
    says(&stdout, &["%  part: ", " instructions a call instead of "]);
    assert_eq!(here.json()["functions"]["causes"][0]["function"], "part");
}

#[test]
fn a_commit_that_cannot_be_built_stays_a_candidate() {
    let here = Repository::new(|number| if number < BROKEN { 4 } else { 40 });
    let call = [&first(), "main", "--json", "r.json", "--", "./work"];
    let (stdout, stderr) = here.bisect(0, &call);
    says(&stderr, &["left out: commit 6 of 13 cannot be built"]);
    says(
        &stdout,
        &[
            "95 % set: 2 commits",
            "number-6",
            "number-7",
            "left out: 1 commit: ",
        ],
    );
    let result = here.json();
    assert_eq!(result["outcome"], "exhausted");
    assert_eq!(result["left_out"].as_array().unwrap().len(), 1);
    for one in result["candidates"].as_array().unwrap() {
        let probability = one["probability"].as_f64().unwrap();
        assert!((0.4..=0.5).contains(&probability), "{one}");
    }
}

#[test]
fn a_figure_of_the_output_is_searched_and_no_change_is_told() {
    let here = Repository::new(|_| 1);
    let figure = "took ([0-9]+)";
    let call = [
        &first(),
        "--metric",
        figure,
        "--margin",
        "2",
        "--",
        "./work",
    ];
    let (stdout, _) = here.bisect(0, &call);
    says(
        &stdout,
        &["no change between main~13 and HEAD beyond 2 %: value "],
    );
    let number = "of (?<number>[0-9]+)";
    let call = ["main~12", "--metric", number, "--json", "-", "--", "./work"];
    let (stdout, stderr) = here.bisect(0, &call);
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["metric"], "number");
    assert_eq!(result["schema"], "furlong.bisect/1");
    assert!(
        result["probability_several"].as_f64().unwrap() > 0.5,
        "{stderr}"
    );
    says(&stderr, &["several commits changed it"]);
}

#[test]
fn what_cannot_be_searched_is_refused_with_a_reason() {
    let here = Repository::new(|_| 1);
    let refused = |arguments: &[&str]| here.bisect(2, arguments).1;
    let work = ["--", "./work"];
    let with = |revisions: &[&str]| refused(&[revisions, &work[..]].concat());
    says(
        &with(&["main", "main~3"]),
        &["main is not an ancestor of main~3: give the older one"],
    );
    says(
        &with(&["main", "HEAD"]),
        &["main and HEAD are the same commit"],
    );
    says(&with(&["nonsense"]), &["there is no revision `nonsense`"]);
    says(
        &with(&["main~3", "nonsense"]),
        &["there is no revision `nonsense`"],
    );
    says(&refused(&["main~3"]), &["<COMMAND>"]);
    says(
        &refused(&["main~3", "--metric", "(", "--", "./work"]),
        &["--metric"],
    );
    says(
        &refused(&["main~3", "--max-time", "0", "--", "./work"]),
        &["number of seconds"],
    );

    let (_, stderr) = here.bisect(1, &["main~3", "--", "./work && exit 3"]);
    says(&stderr, &["` failed: exit code 3"]);
    let (_, stderr) = here.bisect(
        1,
        &[
            "main~8",
            &format!("main~{}", COMMITS - BROKEN),
            "--",
            "./work",
        ],
    );
    says(&stderr, &["cannot be built"]);
    let (_, stderr) = here.bisect(1, &["main~3", "--metric", "(nothing)", "--", "./work"]);
    says(&stderr, &["nothing"]);
    here.0.write("work", "#!/bin/sh\nexit 1\n");
    let few = [
        "main~1",
        "--max-time",
        "0.1",
        "--json",
        "r.json",
        "--",
        "./work",
    ];
    let (_, stderr) = here.bisect(0, &few);
    says(
        &stderr,
        &["changes that are not committed are not measured"],
    );

    let alone = Home::new();
    let mut furlong = alone.furlong(&["bisect", "HEAD~1", "--", "true"]);
    let output = furlong
        .env("GIT_CEILING_DIRECTORIES", "/")
        .output()
        .unwrap();
    says(&ended(2, &output).1, &["call it inside one"]);
}

#[test]
fn a_good_commit_beside_the_first_parents_is_refused() {
    let here = Repository::new(|_| 1);
    for arguments in [
        "checkout -q -b topic main~2",
        "commit -q --allow-empty -m topic",
        "checkout -q main",
        "merge -q --no-ff -m merge topic",
    ] {
        here.0.git(arguments);
    }
    let (_, stderr) = here.bisect(2, &["topic", "--", "./work"]);
    says(&stderr, &["topic was merged into HEAD from the side"]);
}

#[test]
fn a_commit_whose_command_fails_is_left_out() {
    let here = Repository::new(|number| if number < SLOW { 4 } else { 40 });
    // Fails in the middle, of which a search measures something.
    let command = "./work && n=$(./work | sed 's/.*of //; s/,.*//') && test $n -lt 5 -o $n -gt 9";
    let (stdout, stderr) = here.bisect(0, &[&first(), "main", "--", command]);
    says(&stderr, &["left out: `"]);
    says(&stdout, &["left out: ", "number-8"]);
}

#[test]
fn an_interrupted_search_tells_and_keeps_what_it_measured() {
    let here = Repository::new(|_| 1);
    let run = "echo one >> $HOME/runs; ./work";
    let call = ["bisect", "--build", "true", "--margin", "0.001"];
    let more = ["main~3", "--json", "r.json", "--", run];
    let child = here.0.furlong(&[&call[..], &more].concat()).spawn();
    let child = child.unwrap();
    wait_until("a pilot and more", || here.0.lines("runs").len() > 30);
    send(&child, Signal::INT);
    let (stdout, stderr) = ended(130, &child.wait_with_output().unwrap());
    says(&stderr, &["interrupted after "]);
    says(&stdout, &["the search did not come to its end", "record: "]);
    let result = here.json();
    let blocks = result["blocks"].as_array().unwrap().len();
    assert!(blocks >= 9, "{blocks}");
}

#[test]
fn a_signal_in_a_build_begins_no_other() {
    let here = Repository::new(|_| 1);
    let build =
        "echo one >> $HOME/builds; while test ! -e $HOME/goes; do sleep 0.01; done; sleep 1";
    let call = ["bisect", "--build", build, "main~3", "--", "./work"];
    let child = here.0.furlong(&call).spawn().unwrap();
    wait_until("a build", || !here.0.lines("builds").is_empty());
    send(&child, Signal::TERM);
    here.0.write("goes", "");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert_eq!(here.0.lines("builds").len(), 1);
}

#[test]
fn a_search_measures_however_long_it_builds_and_keeps_eight_checkouts() {
    let here = Repository::new(|number| if number < SLOW { 4 } else { 40 });
    let short = ["main~3", "--max-time", "0.001", "--json", "r.json", "--"];
    let (stdout, _) = here.bisect(0, &[&short[..], &["./work"]].concat());
    assert_eq!(here.json()["samples"], 18, "{stdout}");

    // Two more ways to build make checkouts of their own.
    for build in ["true", "true;", "true;;"] {
        let build = build.replace(";;", "; true");
        let call = [
            "bisect",
            "--build",
            &build,
            &first(),
            "main",
            "--metric",
            "([0-9]+) ms",
            "--",
            "./work",
        ];
        here.0.ends(0, &call);
    }
    let mut kept = std::fs::read_dir(here.0.path("cache/furlong/ab")).unwrap();
    let kept = std::fs::read_dir(kept.next().unwrap().unwrap().path()).unwrap();
    let kept = kept.filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(kept.count(), 8);
}
