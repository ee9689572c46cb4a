//! A benchmark as run by cargo. With the variable `AS`, this program is the benchmark of that name;
//! otherwise it runs itself and checks the results.
#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use furlong_lab::Experiment;
use furlong_lab::model::Workload;
use furlong_lab::model::result::ResultFile;
use furlong_stats::random::Random;

/// The variable with the benchmark's name.
const AS: &str = "FURLONG_TEST_BENCH";

fn number(random: &mut Random, workload: &Workload) -> u64 {
    random.bits() % workload.params["n"]
}

fn experiment(name: &str) -> Experiment {
    let begun =
        Experiment::new("sum", "Which sum?").with_arm("once", |run| run.time(number, |n| *n + 1));
    let begun = match name {
        "liar" => begun.with_arm("twice", |run| run.time(number, |n| *n + 2)),
        "twin" => begun.with_arm("once", |run| run.time(number, |n| *n + 1)),
        _ => begun.with_arm("twice", |run| {
            run.time(number, |n| (0..2).fold(*n, |n, _| n + 1) - 1)
        }),
    };
    begun
        .with_workload("seven", &[("n", 7)])
        .with_workload("ten", &[("n", 10)])
}

/// This program as a benchmark, in its own home.
fn bench(home: &Path, name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(arguments).current_dir(home).env(AS, name);
    command
        .env("XDG_DATA_HOME", home.join("data"))
        .env_remove("FURLONG_DB");
    command.output().unwrap()
}

fn cargo_bench_measures_every_arm_on_every_workload() {
    let home = tempfile::tempdir().unwrap();
    let options = ["--profile", "smoke", "--json", "r.json", "--bench"];
    let output = bench(home.path(), "honest", &options);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = fs::read_to_string(home.path().join("r.json")).unwrap();
    let result: ResultFile = serde_json::from_str(&text).unwrap();
    let experiment = &result.experiments[0];
    assert_eq!(
        (&experiment.name[..], &experiment.metric_order[..]),
        ("sum", &["time_ns_per_op".to_owned()][..])
    );
    let names: Vec<&str> = experiment
        .workloads
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["seven", "ten"]);
    for workload in &experiment.workloads {
        assert_eq!(workload.blocks, [1, 2, 3]);
        for arm in &workload.arms {
            let times = &arm.samples["time_ns_per_op"];
            assert!(
                times.iter().all(|time| time.is_some_and(|time| time > 0.0)),
                "{times:?}"
            );
        }
    }
    let shown = bench(home.path(), "honest", &["show", "--bench"]);
    assert_eq!(shown.stdout, output.stdout, "the record has it");
}

fn cargo_test_runs_it_small_and_keeps_nothing() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), "honest", &["--nocapture", "filter"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!home.path().join("data").exists());
}

fn arms_that_disagree_are_found() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), "liar", &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("wrong answer: on sum seven the arms disagree"),
        "{text}"
    );
}

fn an_experiment_that_contradicts_itself_is_one_line() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), "twin", &["--bench"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(
        text,
        "furlong: the experiment `sum`: arm `once` is there twice\n"
    );
}

/// A test: its name and its function.
type Test = (&'static str, fn());

const TESTS: [Test; 4] = [
    (
        "cargo_bench_measures_every_arm_on_every_workload",
        cargo_bench_measures_every_arm_on_every_workload,
    ),
    (
        "cargo_test_runs_it_small_and_keeps_nothing",
        cargo_test_runs_it_small_and_keeps_nothing,
    ),
    ("arms_that_disagree_are_found", arms_that_disagree_are_found),
    (
        "an_experiment_that_contradicts_itself_is_one_line",
        an_experiment_that_contradicts_itself_is_one_line,
    ),
];

/// A minimal test harness: a filter, a listing, and one line per test.
fn main() -> ExitCode {
    if let Ok(name) = env::var(AS) {
        return furlong_lab::bench(&[experiment(&name)]);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words = arguments.iter().find(|argument| !argument.starts_with('-'));
    let filter = words.map_or("", String::as_str);
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(filter)) {
        if arguments.iter().any(|argument| argument == "--list") {
            furlong_lab::talk::data(&format!("{name}: test\n")).unwrap();
        } else {
            test();
            furlong_lab::talk::data(&format!("test {name} ... ok\n")).unwrap();
        }
    }
    ExitCode::SUCCESS
}
