//! `furlong ab` without a command: the benchmarks of `cargo bench`.

use std::fs;

use crate::lab::{Home, ended, is_spoiler, read, says};
use furlong_lab::model::result::Verdict;

/// Prints what cargo says about the bench programs that it built.
const BUILD: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/builds"
for name in sort map other; do
    [ -f "$name" ] || continue
    echo "Compiling $name" >&2
    printf '{"reason":"compiler-artifact","manifest_path":"%s/Cargo.toml",' "$PWD"
    printf '"target":{"kind":["bench"],"name":"%s"},"executable":"%s/%s"}\n' "$name" "$PWD" "$name"
done
"#;

/// A bench program that takes a number of nanoseconds for an operation, with noise of 1 per mille
/// from a hash of its process.
const PROGRAM: &str = r#"#!/bin/sh
echo "a line of the benchmark"
case "$FURLONG_BENCH_SAMPLE" in
list) echo '[["a / b","one"],["a / b","two"],["c","NAME"]]'; exit ;;
*'"two"'*) ns=TWO ;;
*'"NAME"'*) ns=500 ;;
*) ns=300 ;;
esac
[ -e "$HOME/killed" ] && kill -INT $$
operations=${FURLONG_BENCH_SAMPLE%,*}
operations=${operations##*,}
noise=$((($$ * 7919) % 1000))
ps=$((operations * ns * (1000000 + noise) / 1000))
printf '{"operations":%d,"elapsed_s":%d.%012d,"digest":DIGEST}\n' \
    "$operations" $((ps / 1000000000000)) $((ps % 1000000000000))
"#;

/// A repository with two commits of bench programs.
pub(crate) struct Repository(pub(crate) Home);

impl Repository {
    /// The programs have these names for one benchmark, times of another, and digests.
    pub(crate) fn new(commits: [(&str, &str, &str); 2]) -> Self {
        let here = Self(Home::new());
        here.0.git("init --quiet --initial-branch main");
        for (name, two, digest) in commits {
            let program = PROGRAM.replace("NAME", name).replace("TWO", two);
            here.0.write("sort", program.replace("DIGEST", digest));
            here.0.write("other", "#!/bin/sh\necho 'sum: benchmark'\n");
            here.0.write("build", BUILD);
            here.commit("build sort other", two);
        }
        here
    }

    fn commit(&self, files: &str, message: &str) {
        let mut chmod = self.0.command("chmod");
        ended(0, &chmod.arg("+x").args(files.split(' ')).output().unwrap());
        self.0.git(&format!("add {files}"));
        self.0
            .git(&format!("commit --quiet --allow-empty --message {message}"));
    }

    /// Calls `ab` and returns stdout and stderr without warnings about the machine.
    fn ab(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let all = [&["ab", "main~1", "--build", "./build"], arguments].concat();
        let (stdout, stderr) = self.0.ends(code, &all);
        let lines = stderr.lines().filter(|line| !is_spoiler(line));
        (stdout, lines.map(|line| format!("{line}\n")).collect())
    }
}

#[test]
fn every_common_benchmark_is_compared_and_the_others_are_named() {
    let here = Repository::new([("old", "400", "1"), ("new", "440", "1")]);
    let (stdout, stderr) = here.ab(3, &["--json", "r.json", "--fail-on", "revert"]);
    says(&stderr, &["building main~1", "for each of 2 workloads"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.len() <= 10, "{stdout}");
    assert_eq!(
        lines[0],
        "2 benchmarks: 1 changed, 1 the same, 0 cannot be told"
    );
    assert!(lines[1].starts_with("slower: sort/a / b/two, "), "{stdout}");
    says(
        &stdout,
        &[
            "only in main~1: sort/c/old",
            "only in HEAD: sort/c/new",
            "furlong show --details",
        ],
    );
    let result = read(&here.0.path("r.json"));
    let experiment = &result.experiments[0];
    let left_out = experiment.left_out.join("\n");
    says(&left_out, &["programs without furlong-bench: other"]);
    assert_eq!(experiment.comparison.as_deref(), Some("ab cargo bench"));
    for workload in &experiment.workloads {
        assert_eq!(workload.params["family"], 2);
        assert!(workload.params["operations"].as_u64().unwrap() > 100_000);
        assert_eq!(workload.arms.len(), 2);
        assert_ne!(workload.comparisons[0].verdict, Verdict::Inconclusive);
        let changed = if workload.name == "sort/a / b/two" {
            10.0
        } else {
            0.0
        };
        let effect = workload.comparisons[0].effect_pct;
        assert!(
            (effect - changed).abs() < 0.5,
            "{}: {effect}",
            workload.name
        );
    }
    let arms = |line: &str| {
        here.0.ends(0, &line.split(' ').collect::<Vec<_>>());
        let result = read(&here.0.path("r.json"));
        let arms = result.experiments[0].workloads[0].arms.iter();
        arms.map(|arm| arm.name.clone()).collect::<Vec<_>>()
    };
    let same = "ab HEAD HEAD --build ./build --blocks 2 --json r.json";
    assert_eq!(arms(same), ["HEAD", "HEAD (2)"]);
    assert_eq!(arms(&format!("{same} --names a,b")), ["a", "b"]);
    let builds = here.0.lines("builds");
    assert_eq!(builds, ["--message-format=json-render-diagnostics"; 2]);
}

#[test]
fn a_filter_selects_benchmarks_and_a_run_is_resumed() {
    let here = Repository::new([("same", "400", "1"), ("same", "400", "2")]);
    let few = ["--blocks", "2", "--bench", "two", "--json", "r.json"];
    let (stdout, _) = here.ab(0, &few);
    says(&stdout, &["1 benchmark: 0 changed", "1 cannot be told"]);
    let result = read(&here.0.path("r.json"));
    let warnings = result.experiments[0].workloads[0].warnings.join("\n");
    says(&warnings, &["the revisions answer differently"]);

    // A sample that Ctrl-C ends.
    here.0.write("killed", "");
    let (_, stderr) = here.ab(130, &["--blocks", "6"]);
    assert!(!stderr.contains("building"), "{stderr}");
    let (_, id) = stderr.split_once("compare --resume ").unwrap();
    fs::remove_file(here.0.path("killed")).unwrap();
    let resume = ["compare", "--resume", id.trim()];
    // A checkout may be gone.
    let [cache, aside] = ["cache", "aside"].map(|name| here.0.path(name));
    fs::rename(&cache, &aside).unwrap();
    says(
        &here.0.refuses(&resume),
        &["sort is gone: furlong ab builds it again"],
    );
    fs::rename(&aside, &cache).unwrap();
    let (stdout, _) = here.0.ends(0, &resume);
    says(&stdout, &["3 benchmarks: 0 changed"]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_reason() {
    let here = Repository::new([("same", "400", "1"), ("same", "400", "1")]);
    let refused = |arguments: &[&str]| here.ab(2, arguments).1;
    says(
        &refused(&["--bench", "nothing"]),
        &["no benchmark that both revisions have contains nothing"],
    );
    says(
        &refused(&["--prepare", "true"]),
        &["--prepare is for commands"],
    );
    says(&refused(&["--warmup", "1"]), &["--warmup is for commands"]);
    says(
        &refused(&["--bench", "a", "--", "./sort"]),
        &["cannot be used with"],
    );
    let (_, stderr) = here.0.ends(2, &["ab", "main~1"]);
    says(&stderr, &["there is no Cargo.toml", "--build"]);
    here.0.git("rm --quiet sort");
    here.0.git("commit --quiet --message gone");
    says(
        &refused(&[]),
        &["have no benchmark of furlong-bench in common"],
    );
}
