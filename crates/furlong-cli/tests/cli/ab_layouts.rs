//! `furlong ab --layouts`: revisions of a cargo package, linked in several orders.

use crate::ab_benchmarks::Repository;
use crate::lab::{Home, is_spoiler, read, says};
use furlong_lab::model::result::Verdict;

/// A program whose figure is the order of its own functions, with noise of 1 per mille from a hash
/// of its process.
const PROGRAM: &str = r#"
macro_rules! functions {
    ($($name:ident $n:literal),*) => {
        $(#[inline(never)] fn $name(x: u64) -> u64 { std::hint::black_box(x) * $n + $n })*
        const ALL: &[fn(u64) -> u64] = &[$($name),*];
    };
}
functions!(a 3, b 5, c 7, d 11, e 13, f 17, g 19, h 23);

fn main() {
    let places: Vec<usize> = ALL.iter().map(|function| *function as usize).collect();
    let swapped = |at: usize| places[..at].iter().filter(|place| **place > places[at]).count();
    let swapped: usize = (0..places.len()).map(swapped).sum();
    let noise = f64::from(std::process::id() * 7919 % 1000) / 1e6;
    println!("{}", (100 + 10 * swapped) as f64 * (1.0 + noise) * FACTOR);
}
"#;

const MANIFEST: &str = "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// A repository with an inert change in its second commit, and a slower program in its third.
fn repository() -> Home {
    let home = Home::new();
    home.git("init --quiet --initial-branch main");
    home.write("Cargo.toml", MANIFEST);
    home.write(".gitignore", "target\nCargo.lock\n");
    std::fs::create_dir(home.path("src")).unwrap();
    for factor in ["1.0", "(2.0 - 1.0)", "1.2"] {
        home.write("src/main.rs", PROGRAM.replace("FACTOR", factor));
        home.git("add Cargo.toml .gitignore src");
        home.git("commit --quiet --message more");
    }
    home
}

fn ab(home: &Home, code: i32, revisions: [&str; 2], further: &[&str]) -> (String, String) {
    let layouts = ["ab", revisions[0], revisions[1], "--layouts", "6"];
    let (stdout, stderr) = home.ends(code, &[&layouts, further].concat());
    let lines = stderr.lines().filter(|line| !is_spoiler(line));
    (stdout, lines.map(|line| format!("{line}\n")).collect())
}

#[test]
fn both_revisions_run_in_like_layouts_which_are_the_replicates() {
    let home = repository();
    let measure = [
        "--metric",
        "[0-9.]+",
        "--blocks",
        "12",
        "--json",
        "r.json",
        "--",
        "./target/release/tool",
    ];
    let (stdout, stderr) = ab(&home, 0, ["main~2", "main~1"], &measure);
    says(
        &stderr,
        &["code layouts: the order of functions", "alignment"],
    );
    says(&stdout, &["in 6 code layouts"]);
    let result = read(&home.path("r.json"));
    let workload = &result.experiments[0].workloads[0];
    assert_eq!(workload.blocks.len(), 12);
    assert_eq!(workload.params["layouts"], 6);
    let samples = workload.arms.iter().map(|arm| &arm.samples["value"]);
    let orders: Vec<Vec<u32>> = samples
        .map(|all| all.iter().map(|one| one.unwrap() as u32).collect())
        .collect();
    // The seventh block has the first layout again, and both revisions have the same.
    assert_eq!(orders[0], orders[1]);
    assert_eq!(orders[0][..6], orders[0][6..]);
    let mut distinct = orders[0][..6].to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 2, "{orders:?}");
    let found = &workload.comparisons[0];
    assert_eq!(found.verdict, Verdict::Equivalent);
    assert_eq!(found.by_layout.unwrap().layouts, 6);
    assert_eq!(found.paired.unwrap().df, 5.0);

    let (stdout, stderr) = ab(&home, 0, ["main~2", "main"], &measure);
    assert_eq!(stderr.matches("building").count(), 1, "{stderr}");
    says(&stdout, &["worse: main has "]);
    let result = read(&home.path("r.json"));
    let found = &result.experiments[0].workloads[0].comparisons[0];
    assert_eq!(found.verdict, Verdict::Revert);
    assert!(
        (found.effect_pct - 20.0).abs() < 0.1,
        "{}",
        found.effect_pct
    );
}

#[test]
fn a_command_or_a_build_without_a_linked_program_is_refused() {
    let home = repository();
    let (_, stderr) = ab(&home, 2, ["main~1", "main"], &["--", "true"]);
    says(&stderr, &["`true` names no program that was linked"]);
    let nothing = ["--build", "true", "--", "true"];
    let (_, stderr) = ab(&home, 2, ["main~1", "main"], &nothing);
    says(&stderr, &["cargo linked no program in this build"]);
    let until = ["--until", "1", "--", "./target/release/tool"];
    let (_, stderr) = ab(&home, 2, ["main~1", "main"], &until);
    says(&stderr, &["--until asks for more blocks"]);
}

/// A repository without cargo whose program is a script.
fn scripts() -> Home {
    let home = Home::new();
    home.git("init --quiet --initial-branch main");
    for factor in ["1", "2"] {
        home.write("factor", factor);
        home.git("add factor");
        home.git("commit --quiet --message more");
    }
    home
}

#[test]
fn a_command_links_the_layouts_of_any_build() {
    let home = scripts();
    let all = |relink: &str, code: i32| {
        let measure = ["--metric", "[0-9]+", "--blocks", "12", "--json", "r.json"];
        let build = ["--build", "mkdir bin", "--relink", relink];
        let command = ["--", "bin/tool"];
        let further = [&build[..], &measure, &command].concat();
        ab(&home, code, ["main~1", "main"], &further)
    };
    let relink = r"printf '#!/bin/sh\necho %d\n' $((10 + 10 * FURLONG_LAYOUT)) > bin/tool
        chmod +x bin/tool";
    let (stdout, _) = all(relink, 0);
    says(&stdout, &["in 6 code layouts"]);
    let result = read(&home.path("r.json"));
    let workload = &result.experiments[0].workloads[0];
    for arm in &workload.arms {
        let values = arm.samples["value"].iter().map(|one| one.unwrap());
        let wanted = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0].repeat(2);
        assert_eq!(values.collect::<Vec<_>>(), wanted);
    }
    // The file is the same in all layouts, or there is none.
    let (_, stderr) = all("printf '#!/bin/sh\n' > bin/tool; chmod +x bin/tool", 2);
    says(&stderr, &["two layouts are the same file"]);
    let (_, stderr) = all("true", 2);
    says(&stderr, &["`true` changed no file in main~1"]);
    let (_, stderr) = all("exit 7", 1);
    says(&stderr, &["main~1 cannot be built (exit 7"]);
}

#[test]
fn benchmarks_are_judged_over_layouts_too() {
    let Repository(home) = Repository::new([("same", "400", "1"), ("same", "440", "1")]);
    let relink = "sed -i \"s/^\\*) ns=.*/*) ns=$((300 + 100 * FURLONG_LAYOUT)) ;;/\" sort";
    let line = [
        "ci",
        "main~1",
        "--build",
        "./build",
        "--budget",
        "1m",
        "--bench",
        "sort/a",
        "--layouts",
        "6",
        "--relink",
        relink,
        "--json",
        "r.json",
    ];
    let (stdout, stderr) = home.ends(3, &line);
    says(&stderr, &["code layouts: the order of functions"]);
    says(&stdout, &["slower: sort/a / b/two, "]);
    let result = read(&home.path("r.json"));
    let [one, two] = &result.experiments[0].workloads[..] else {
        panic!("two benchmarks");
    };
    let found = &one.comparisons[0];
    assert_eq!(found.verdict, Verdict::Equivalent);
    assert_eq!(found.by_layout.unwrap().layouts, 6);
    assert_eq!(two.comparisons[0].verdict, Verdict::Revert);
    for arm in &one.arms {
        let times = arm.samples["time_ns_per_op"].iter().take(6);
        for (time, layout) in times.zip(0..) {
            let wanted = 300.0 + 100.0 * f64::from(layout);
            assert!(
                (time.unwrap() / wanted - 1.0).abs() < 0.01,
                "{time:?} {wanted}"
            );
        }
    }
}
