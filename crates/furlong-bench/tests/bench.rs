//! A benchmark as cargo runs it. With the variable `AS`, this program is the benchmark of that
//! name; otherwise it runs itself and checks the results.
#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use furlong_bench::protocol::{LIST, Outcome, VARIABLE};
use furlong_bench::{Bench, Random};
use furlong_stats::value::{ResultFile, Verdict};

const AS: &str = "FURLONG_TEST_BENCH";

fn number(random: &mut Random) -> u64 {
    random.bits() % 7
}

fn spin(times: u64) -> u64 {
    (0..times).fold(1, |sum: u64, n| {
        std::hint::black_box(sum.wrapping_mul(n | 1))
    })
}

fn main() -> ExitCode {
    let Ok(name) = env::var(AS) else {
        for test in [
            measures_every_benchmark_of_every_group,
            refuses_other_answers,
            a_failed_sample_ends_the_run,
            what_was_measured_is_kept_and_a_bad_path_is_told_at_once,
            runs_each_benchmark_once_in_a_test,
            builds_an_input_once_where_the_benchmark_does,
            answers_requests_of_a_program_that_measures,
        ] {
            test();
        }
        return ExitCode::SUCCESS;
    };
    let mut bench = Bench::new();
    let sum = bench.group("sum");
    sum.bench("once", |b| b.iter_with(number, |n| *n + 1));
    match name.as_str() {
        "liar" => sum.bench("twice", |b| b.iter_with(number, |n| *n + 2)),
        "panics" => sum.bench("twice", |_| panic!("as it was told")),
        "twin" => sum.bench("once", |b| b.iter_with(number, |n| *n + 1)),
        "idle" => sum.bench("twice", |_| {}),
        _ => sum.bench("twice", |b| {
            b.iter_with(number, |n| (0..2).fold(*n, |n, _| n + 1) - 1);
        }),
    };
    let spins = bench.group("spin");
    spins.bench("short", |b| b.iter(|| spin(200)));
    spins.bench("same", |b| b.iter(|| spin(200)));
    spins.bench("long", |b| b.iter(|| spin(400)));
    bench.group("alone").bench("table", |b| {
        let built: Vec<u64> = (0..1000).collect();
        let log = env::var("BUILT").ok();
        if let Some(path) = log {
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(path, before + "built\n").unwrap();
        }
        b.iter(|| built.iter().sum::<u64>());
    });
    if name == "late" {
        bench
            .group("broken")
            .bench("panics", |_| panic!("as it was told"));
    }
    bench.main()
}

fn bench(home: &Path, name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(arguments).current_dir(home).env(AS, name);
    command.output().unwrap()
}

/// Runs a benchmark that must succeed; returns its output and its record.
fn measured(arguments: &[&str]) -> (String, ResultFile) {
    let home = tempfile::tempdir().unwrap();
    let all = [&["--bench", "--json", "r.json"], arguments].concat();
    let output = bench(home.path(), "honest", &all);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = fs::read_to_string(home.path().join("r.json")).unwrap();
    (said, serde_json::from_str(&text).unwrap())
}

fn measures_every_benchmark_of_every_group() {
    let (said, file) = measured(&["--blocks", "3", "--time", "0.0001"]);
    let experiment = &file.experiments[0];
    assert_eq!(experiment.name, "bench");
    let names: Vec<_> = experiment
        .workloads
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["sum", "spin", "alone"]);
    for workload in &experiment.workloads {
        assert_eq!(workload.blocks, [1, 2, 3]);
        assert!(
            workload
                .order
                .iter()
                .all(|turn| turn.len() == workload.arms.len() + 1)
        );
        assert_eq!(workload.comparisons.len(), workload.arms.len() - 1);
        for arm in &workload.arms {
            assert!(said.contains(&arm.name), "{said}");
            assert!(
                arm.samples["time_ns_per_op"]
                    .iter()
                    .all(|value| value.unwrap() > 0.0)
            );
        }
    }
    // Too few blocks for a verdict.
    let verdicts = experiment.workloads.iter().flat_map(|one| &one.comparisons);
    assert!(
        verdicts
            .into_iter()
            .all(|one| one.verdict == Verdict::Inconclusive)
    );
}

fn refuses_other_answers() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [&["--bench", "sum"][..], &["sum"]] {
        let output = bench(home.path(), "liar", arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("gives other answers than"), "{said}");
    }
}

fn a_failed_sample_ends_the_run() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), "panics", &["--bench", "sum"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("sum/twice: the sample failed"), "{said}");
    let output = bench(home.path(), "idle", &["sum"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("sum/twice calls no loop"), "{said}");
    for (name, arguments) in [
        ("honest", &["--bench", "--blok"][..]),
        ("twin", &["--bench"]),
    ] {
        let output = bench(home.path(), name, arguments);
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
}

fn what_was_measured_is_kept_and_a_bad_path_is_told_at_once() {
    let home = tempfile::tempdir().unwrap();
    let short = ["--bench", "--blocks=2", "--time=0.0001", "--json"];
    let output = bench(home.path(), "late", &[&short[..], &["r.json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = fs::read_to_string(home.path().join("r.json")).unwrap();
    let kept: ResultFile = serde_json::from_str(&text).unwrap();
    let names = kept.experiments[0]
        .workloads
        .iter()
        .map(|one| one.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["sum", "spin", "alone"]);
    let output = bench(
        home.path(),
        "honest",
        &[&short[..], &["no/such/r.json"]].concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stdout.is_empty() && said.contains("no/such/r.json"),
        "{said}"
    );
}

fn runs_each_benchmark_once_in_a_test() {
    let home = tempfile::tempdir().unwrap();
    let output = bench(home.path(), "honest", &["--nocapture"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 6, "{said}");
    assert!(lines.contains(&"test spin/long ... ok"), "{said}");
    let output = bench(home.path(), "honest", &["--list", "alone"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "alone/table: benchmark\n"
    );
}

fn builds_an_input_once_where_the_benchmark_does() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("built");
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .arg("alone")
        .current_dir(home.path())
        .env(AS, "honest")
        .env("BUILT", &log);
    assert!(command.output().unwrap().status.success());
    assert_eq!(fs::read_to_string(log).unwrap(), "built\n");
}

fn answers_requests_of_a_program_that_measures() {
    let answer = |name: &str, asked: &str, code: i32| {
        let mut command = Command::new(env::current_exe().unwrap());
        let output = command.env(AS, name).env(VARIABLE, asked).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Vec<(String, String)> = serde_json::from_str(&answer("honest", LIST, 0)).unwrap();
    assert_eq!(listed.len(), 6);
    assert_eq!(listed[0], ("sum".to_owned(), "once".to_owned()));
    answer("twin", LIST, 1);
    let sample = |seed: u64| -> Outcome {
        let asked = format!(r#"["sum","twice",40,{seed}]"#);
        serde_json::from_str(&answer("honest", &asked, 0)).unwrap()
    };
    assert_eq!(sample(1).operations, 40);
    assert_eq!(sample(1).digest, sample(1).digest);
    assert_ne!(sample(1).digest, sample(2).digest);
    answer("honest", r#"["sum","nothing",40,1]"#, 1);
}
