//! `--format`: the result in other tools' formats.
#![forbid(unsafe_code)]

use std::fs;
use std::process::Command;

use furlong_lab::model::result::ResultFile;
use furlong_lab::record::judged::judged;
use furlong_lab::report::Form;
use serde_json::Value;

use crate::place::{Place, only, said, values};

/// Runs a comparison in a form; returns its standard output and the result.
fn formed(place: &Place, form: &str, arguments: &[&str]) -> (String, ResultFile) {
    let options = ["--quiet", "--format", form, "--json", "r.json"];
    let output = place.run(&[arguments, &options].concat());
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    (text, place.read("r.json"))
}

/// A result of two commands with the given figures.
fn with_figures(figures: &[(&str, [[f64; 3]; 2])]) -> ResultFile {
    let place = Place::new();
    let names = ["--names", "rbtree,maple", "--blocks", "3"];
    let mut result = place.result(&[&["true", "true"][..], &names].concat());
    for (metric, arms) in figures {
        for (arm, values) in result.experiments[0].workloads[0].arms.iter_mut().zip(arms) {
            let samples = values.iter().copied().map(Some).collect();
            arm.samples.insert((*metric).to_owned(), samples);
        }
    }
    judged(&result, None)
}

/// A kernel build on two trees, as published.
fn published() -> ResultFile {
    with_figures(&[
        (
            "user_s",
            [
                [21592.22, 21993.77, 21950.81],
                [21816.37, 22008.08, 22050.22],
            ],
        ),
        (
            "sys_s",
            [[2995.71, 3031.04, 3028.40], [2949.97, 2978.80, 2978.20]],
        ),
        (
            "wall_s",
            [[218.529, 217.249, 218.474], [216.609, 217.07, 216.479]],
        ),
        (
            "maxrss_kib",
            [
                [469212.0, 473396.0, 471032.0],
                [471528.0, 468712.0, 469044.0],
            ],
        ),
        ("fs_inputs", [[15400.0, 0.0, 0.0], [8.0, 8.0, 0.0]]),
        (
            "fs_outputs",
            [
                [17103904.0, 17103912.0, 17103904.0],
                [17103912.0, 17103888.0, 17103912.0],
            ],
        ),
        (
            "major_faults",
            [[57804.0, 109469.0, 90825.0], [66169.0, 36911.0, 85798.0]],
        ),
        (
            "minor_faults",
            [
                [606382185.0, 606420309.0, 606505956.0],
                [601199891.0, 601323942.0, 601162956.0],
            ],
        ),
    ])
}

/// GNU time's report of one run, as fields; `None` if these are not its two lines.
fn gnu_time(lines: &str) -> Option<Vec<String>> {
    let marks = [
        "user ",
        "system ",
        "elapsed ",
        "%CPU (",
        "avgtext+",
        "avgdata ",
        "maxresident)k\n",
        "inputs+",
        "outputs (",
        "major+",
        "minor)pagefaults ",
        "swaps",
    ];
    let mut rest = lines.trim_end();
    let mut fields = vec![];
    for mark in marks {
        let (field, after) = rest.split_once(mark)?;
        let digits = |letter: char| letter.is_ascii_digit() || ".:?".contains(letter);
        fields.push(field.to_owned());
        rest = after;
        if field.is_empty() || !field.chars().all(digits) {
            return None;
        }
    }
    rest.is_empty().then_some(fields)
}

#[test]
fn a_published_kernel_build_prints_as_it_was_published() {
    let text = Form::Kernbench.render(&published()).expect("it fits");
    let wanted = "\
rbtree:

21592.22user 2995.71system 3:38.52elapsed 11251%CPU (0avgtext+0avgdata 469212maxresident)k
15400inputs+17103904outputs (57804major+606382185minor)pagefaults 0swaps
21993.77user 3031.04system 3:37.24elapsed 11518%CPU (0avgtext+0avgdata 473396maxresident)k
0inputs+17103912outputs (109469major+606420309minor)pagefaults 0swaps
21950.81user 3028.40system 3:38.47elapsed 11433%CPU (0avgtext+0avgdata 471032maxresident)k
0inputs+17103904outputs (90825major+606505956minor)pagefaults 0swaps

mean of 3 runs:
21845.60user 3018.38system 3:38.08elapsed 11401%CPU (0avgtext+0avgdata 471213maxresident)k
5133inputs+17103907outputs (86033major+606436150minor)pagefaults 0swaps

maple:

21816.37user 2949.97system 3:36.60elapsed 11433%CPU (0avgtext+0avgdata 471528maxresident)k
8inputs+17103912outputs (66169major+601199891minor)pagefaults 0swaps
22008.08user 2978.80system 3:37.07elapsed 11510%CPU (0avgtext+0avgdata 468712maxresident)k
8inputs+17103888outputs (36911major+601323942minor)pagefaults 0swaps
22050.22user 2978.20system 3:36.47elapsed 11561%CPU (0avgtext+0avgdata 469044maxresident)k
0inputs+17103912outputs (85798major+601162956minor)pagefaults 0swaps

mean of 3 runs:
21958.22user 2968.99system 3:36.71elapsed 11502%CPU (0avgtext+0avgdata 469761maxresident)k
5inputs+17103904outputs (62959major+601228930minor)pagefaults 0swaps

";
    assert_eq!(text, wanted);
}

#[test]
fn kernbench_runs_three_times_and_prints_gnu_times_lines_before_the_tables() {
    let place = Place::new();
    let commands = [
        "sh -c 'head -c 1m /dev/zero > out'",
        "true",
        "--names",
        "writes,none",
    ];
    let (text, result) = formed(&place, "kernbench", &commands);
    assert_eq!(only(&result).blocks, [1, 2, 3]);
    let lines = Form::Kernbench.render(&result).expect("it fits");
    assert!(lines.starts_with("writes:\n\n"), "{lines}");
    let table = text.strip_prefix(&lines).expect("the lines come first");
    assert!(table.contains("wall_s"), "{table}");
    let runs: Vec<&str> = lines
        .lines()
        .filter(|line| line.contains("user "))
        .collect();
    assert_eq!(runs.len(), 8, "three runs and a mean, of two commands");
    let pairs: Vec<&str> = lines.lines().collect();
    for (place, line) in pairs
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("user "))
    {
        let two = format!("{line}\n{}", pairs[place + 1]);
        assert!(gnu_time(&two).is_some(), "{two}");
    }
    if let Ok(real) = Command::new("/usr/bin/time").arg("true").output() {
        let real = String::from_utf8_lossy(&real.stderr).into_owned();
        let fields = gnu_time(&real).expect("what this test takes for GNU time's lines");
        let ours = gnu_time(&pairs[pairs.len() - 3..pairs.len() - 1].join("\n"));
        assert_eq!(ours.expect("the mean of `none`").len(), fields.len());
    }
}

#[test]
fn fio_has_a_line_of_spreads_and_the_difference() {
    let figures = [("wall_s", [[10.0, 10.1, 9.9], [12.5, 12.6, 12.7]])];
    let text = Form::Fio.render(&with_figures(&figures)).expect("it fits");
    let wanted = "wall_s, lower is better\n\
                  \x20         rbtree  maple\n\
                  \x20         var     var    diff\n\
                  commands  1.00%   0.79%  +26.0%\n\n";
    assert_eq!(text, wanted);
    let place = Place::new();
    let (text, result) = formed(&place, "fio", &["true", "true", "--blocks", "2"]);
    assert!(
        text.starts_with(&Form::Fio.render(&result).expect("it fits")),
        "{text}"
    );
}

#[test]
fn ministat_prints_what_ministat_prints_of_the_wall_times() {
    let place = Place::new();
    let commands = ["true", "sh -c true", "--names", "a,b", "--blocks", "4"];
    let (text, result) = formed(&place, "ministat", &commands);
    for arm in &only(&result).arms {
        let lines: Vec<String> = values(arm, "wall_s").iter().map(f64::to_string).collect();
        fs::write(place.path(&arm.name), lines.join("\n")).expect("written");
    }
    let stat = Command::new(env!("CARGO_BIN_EXE_furlong"))
        .args(["stat", "--ministat", "-w", "74", "a", "b"])
        .current_dir(place.path("."))
        .output()
        .expect("furlong starts");
    let wanted = String::from_utf8(stat.stdout).expect("text");
    assert!(wanted.starts_with("x a\n+ b\n"), "{wanted}");
    assert!(text.starts_with(&wanted), "{text}");
}

#[test]
fn hyperfine_json_holds_what_its_scripts_read() {
    let place = Place::new();
    let commands = ["true", "sh -c true", "--blocks", "3"];
    let (text, result) = formed(&place, "hyperfine-json", &commands);
    let json: Value = serde_json::from_str(&text).expect("nothing but JSON");
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2);
    for (one, arm) in results.iter().zip(&only(&result).arms) {
        assert_eq!(one["command"], arm.name.as_str());
        let times = values(arm, "wall_s");
        assert_eq!(one["times"], Value::from(times.clone()));
        assert_eq!(one["exit_codes"], Value::from(vec![0; 3]));
        let summary = &arm.summary["wall_s"];
        for (field, value) in [
            ("mean", summary.mean),
            ("median", summary.median),
            ("min", summary.min),
            ("max", summary.max),
            ("stddev", summary.stddev.expect("three runs")),
            ("user", arm.summary["user_s"].mean),
            ("system", arm.summary["sys_s"].mean),
        ] {
            assert_eq!(one[field], value, "{field}");
        }
        let bytes: Vec<u64> = values(arm, "maxrss_kib")
            .iter()
            .map(|k| *k as u64 * 1024)
            .collect();
        assert_eq!(one["memory_usage_byte"], Value::from(bytes));
    }
    let options = ["false", "false", "--blocks", "2", "--ignore-failure"];
    let (text, _) = formed(&place, "hyperfine-json", &options);
    let json: Value = serde_json::from_str(&text).expect("nothing but JSON");
    assert_eq!(
        json["results"][0]["exit_codes"],
        Value::from(vec![Value::Null; 2])
    );
}

#[test]
fn benchstat_lines_hold_every_sample_with_its_unit() {
    let place = Place::new();
    let commands = [
        "true",
        "sh -c true",
        "--names",
        "old one,new",
        "--blocks",
        "2",
    ];
    let (text, result) = formed(&place, "benchstat", &commands);
    let line = |arm: usize, run: usize| {
        let arm = &only(&result).arms[arm];
        let value = |metric: &str| values(arm, metric)[run];
        format!(
            "BenchmarkCommands\t1\t{} sec/op\t{} user-sec/op\t{} sys-sec/op\t{} maxrss_kib",
            value("wall_s"),
            value("user_s"),
            value("sys_s"),
            value("maxrss_kib")
        )
    };
    let wanted = [
        "arm: old one".to_owned(),
        line(0, 0),
        line(0, 1),
        String::new(),
        "arm: new".to_owned(),
        line(1, 0),
        line(1, 1),
    ];
    let found: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("arm:"))
        .collect();
    assert_eq!(found.len(), wanted.len(), "{text}");
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!(found.starts_with(wanted.as_str()), "{found}\n{wanted}");
    }
    assert!(text.contains("\nUnit sec/op better=lower\n"), "{text}");
}

#[test]
fn a_stored_comparison_is_shown_in_any_form() {
    let place = Place::new();
    let (_, result) = formed(&place, "table", &["true", "true", "--blocks", "3"]);
    for (name, form) in [
        ("kernbench", Form::Kernbench),
        ("fio", Form::Fio),
        ("hyperfine-json", Form::HyperfineJson),
        ("benchstat", Form::Benchstat),
        ("ministat", Form::Ministat),
    ] {
        let mut show = Command::new(env!("CARGO_BIN_EXE_furlong"));
        show.args(["show", &result.run.id, "--format", name]);
        show.env("FURLONG_DB", place.path("runs.db"))
            .env("HOME", place.path("."));
        let output = show.output().expect("furlong starts");
        assert!(output.status.success(), "{name}: {}", said(&output));
        let wanted = form.render(&result).expect("it fits");
        assert!(
            String::from_utf8_lossy(&output.stdout).starts_with(&wanted),
            "{name}"
        );
    }
}
