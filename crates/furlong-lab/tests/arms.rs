//! Arms that misbehave, end to end. With a verb, this program is the command `furlong` with the
//! experiment below; otherwise it runs itself and checks the results.
#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::thread;
use std::time::Duration;

use furlong_lab::Program;
use furlong_lab::model::result::{Kind, ResultFile};
use furlong_lab::model::{Arm, Experiment, Failure, Outcome, Plan, Request, Workload};

const PLAN: &str = r#"
    name = "misbehave"
    question = "What becomes of an arm that does this?"
    arms = ["good", "other"]
    full_blocks = 3
    batch_s = { smoke = 0.000001 }
    exact_operations = 10
    metrics = [
        { name = "time", unit = "ns", better = "lower", kind = "sampled", margin_pct = 1.0,
          about = "Time." },
        { name = "count", unit = "1", better = "lower", kind = "exact", margin_pct = 0.1,
          about = "A count." },
    ]
    workloads = [
        { name = "honest", about = "" }, { name = "lie", about = "" },
        { name = "panic", about = "" }, { name = "fail", about = "" },
        { name = "hang", about = "" }, { name = "nan", about = "" },
        { name = "chatty", about = "" }, { name = "random", about = "" },
        { name = "huge", about = "" },
    ]
"#;

fn experiment() -> Experiment {
    let plan = Plan::parse(PLAN).unwrap();
    let na = |load: &Workload| (load.name == "huge").then(|| "at most 32 segments".to_owned());
    let other = Arm {
        na,
        ..Arm::new("other", other)
    };
    Experiment {
        plan,
        arms: vec![Arm::new("good", good), other],
        files: Vec::new,
    }
}

fn good(request: &Request) -> Result<Outcome, Failure> {
    let count = if request.exact { 7.0 } else { 0.0 };
    let metrics = [("time".to_owned(), 100.0), ("count".to_owned(), count)];
    Ok(Outcome {
        metrics: metrics.into(),
        operations: request.operations,
        elapsed_s: request.operations as f64 * 1e-7,
        digest: request.seed,
    })
}

/// Like the good arm while it counts; otherwise the workload's name selects its misbehaviour.
fn other(request: &Request) -> Result<Outcome, Failure> {
    let mut outcome = good(request)?;
    match (request.workload.name.as_str(), request.exact) {
        ("random", true) => {
            outcome
                .metrics
                .insert("count".to_owned(), f64::from(std::process::id()));
        }
        (_, true) => {}
        ("lie", _) => outcome.digest ^= 1,
        ("panic", _) => panic!("the sky\nfalls"),
        ("fail", _) => return Err(Failure("no memory is left".to_owned())),
        ("hang", _) => thread::sleep(Duration::from_secs(1_000_000)),
        ("nan", _) => drop(outcome.metrics.insert("time".to_owned(), f64::NAN)),
        ("chatty", _) => furlong_lab::talk::data("hello\n").unwrap(),
        _ => {}
    }
    Ok(outcome)
}

/// This program as the command, in its own home.
fn furlong(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(arguments)
        .current_dir(home)
        .env("XDG_DATA_HOME", home.join("data"));
    command.env_remove("FURLONG_DB").output().unwrap()
}

/// Runs workloads; returns the exit code, the result and stderr.
fn run(workloads: &str, more: &[&str]) -> (Option<i32>, ResultFile, String) {
    let home = tempfile::tempdir().unwrap();
    let run = [
        "run",
        "--profile",
        "smoke",
        "--json",
        "r.json",
        "--workloads",
        workloads,
    ];
    let output = furlong(home.path(), &[&run[..], more].concat());
    let shown = furlong(home.path(), &["show", "--json", "shown.json"]);
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
    let read = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    assert_eq!(
        read("shown.json"),
        read("r.json"),
        "the record has all of it"
    );
    let result = serde_json::from_str(&read("r.json")).unwrap();
    (
        output.status.code(),
        result,
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Checks a workload in which every sample of the other arm fails for this reason.
fn fails_for(workload: &str, reason: &str) {
    let (code, result, stderr) = run(workload, &["--timeout", "5"]);
    assert_eq!(code, Some(1), "{stderr}");
    let said = format!("warning: misbehave {workload}: `other` failed: ");
    let line = stderr.lines().find(|line| line.starts_with(&said));
    assert!(line.is_some_and(|line| line.contains(reason)), "{stderr}");
    let measured = &result.experiments[0].workloads[0];
    assert_eq!(measured.arms[0].samples["time"], [Some(100.0); 3]);
    assert_eq!(measured.arms[1].samples["time"], [None; 3]);
}

fn an_honest_run_is_done() {
    let (code, result, stderr) = run("honest", &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let arms = &result.experiments[0].workloads[0].arms;
    assert!(arms.iter().all(|arm| arm.samples["count"] == [Some(7.0)]));
}

fn a_wrong_answer_ends_the_run_and_keeps_what_was_measured() {
    let (code, result, stderr) = run("honest,lie,fail", &[]);
    assert_eq!(code, Some(1));
    let last = stderr.lines().last().unwrap();
    assert!(
        last.starts_with("furlong: wrong answer: on misbehave lie the arms disagree"),
        "{last}"
    );
    let experiment = &result.experiments[0];
    assert_eq!(experiment.workloads[0].blocks, [1, 2, 3]);
    let after = experiment
        .workloads
        .iter()
        .filter(|load| load.name != "honest");
    assert!(after.into_iter().all(|load| load.blocks.is_empty()));
    assert!(
        result
            .run
            .warnings
            .iter()
            .any(|warning| warning.starts_with("wrong answer"))
    );
}

fn an_arm_that_misbehaves_is_a_failed_sample_told_in_a_line() {
    for (how, told) in [
        ("panic", "tests/arms.rs:"),
        ("panic", ": the sky falls"),
        ("fail", "exit code 1: furlong: no memory is left"),
        ("nan", "the arm measured NaN for `time`"),
        ("chatty", "it printed \"hello"),
    ] {
        fails_for(how, told);
    }
}

fn an_arm_without_end_is_a_failed_sample() {
    let (code, result, stderr) = run("hang", &["--timeout", "0.3", "--blocks", "1"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("`other` failed: took more than 0.3 s"),
        "{stderr}"
    );
    assert_eq!(result.experiments[0].workloads[0].blocks, [1]);
}

fn a_count_that_differs_between_processes_is_sampled() {
    let (code, result, stderr) = run("honest,random", &[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("count is not exact here"), "{stderr}");
    let experiment = &result.experiments[0];
    assert_eq!(experiment.metrics["count"].kind, Kind::Sampled);
    for load in &experiment.workloads {
        assert_eq!(load.arms[0].samples["count"], [Some(7.0); 3]);
        assert_eq!(load.control["count"].samples, [Some(7.0); 3]);
    }
}

fn an_arm_that_cannot_run_a_workload_says_why() {
    let (code, result, stderr) = run("huge", &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let arms = &result.experiments[0].workloads[0].arms;
    assert_eq!(arms[1].na.as_deref(), Some("at most 32 segments"));
    assert_eq!(result.experiments[0].workloads[0].order[0].len(), 2);
}

/// A test: its name and its function.
type Test = (&'static str, fn());

const TESTS: [Test; 6] = [
    ("an_honest_run_is_done", an_honest_run_is_done),
    (
        "a_wrong_answer_ends_the_run_and_keeps_what_was_measured",
        a_wrong_answer_ends_the_run_and_keeps_what_was_measured,
    ),
    (
        "an_arm_that_misbehaves_is_a_failed_sample_told_in_a_line",
        an_arm_that_misbehaves_is_a_failed_sample_told_in_a_line,
    ),
    (
        "an_arm_without_end_is_a_failed_sample",
        an_arm_without_end_is_a_failed_sample,
    ),
    (
        "a_count_that_differs_between_processes_is_sampled",
        a_count_that_differs_between_processes_is_sampled,
    ),
    (
        "an_arm_that_cannot_run_a_workload_says_why",
        an_arm_that_cannot_run_a_workload_says_why,
    ),
];

fn tell(line: &str) {
    furlong_lab::talk::data(line).unwrap();
}

/// A minimal test harness: a filter, a listing, and one line per test.
fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let first = arguments.first().map(String::as_str);
    if matches!(first, Some("run" | "sample" | "show" | "list")) {
        return furlong_lab::main(&Program::new(vec![experiment()]));
    }
    let filter = first
        .filter(|argument| !argument.starts_with('-'))
        .unwrap_or("");
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(filter)) {
        if arguments.iter().any(|argument| argument == "--list") {
            tell(&format!("{name}: test\n"));
        } else {
            test();
            tell(&format!("test {name} ... ok\n"));
        }
    }
    ExitCode::SUCCESS
}
