//! Options as a user of hyperfine types them: they work, or the error has the name here.

use std::fs;

use super::place::{failed, only, said};
use crate::lab::{Home, ended, says};

/// Names of the arms.
fn arms(place: &Home, arguments: &[&str]) -> Vec<String> {
    let result = place.result(arguments);
    let arms = only(&result).arms.iter();
    arms.map(|arm| arm.name.clone()).collect()
}

#[test]
fn runs_are_exact_or_bounded() {
    let place = Home::new();
    let blocks = |arguments: &[&str]| {
        let result = place.result(&[&["true", "true"], arguments].concat());
        only(&result).blocks.len()
    };
    assert_eq!(blocks(&["-r", "3"]), 3);
    assert_eq!(blocks(&["--runs", "2"]), 2);
    assert_eq!(blocks(&["-M", "4"]), 4);
    assert_eq!(blocks(&["-m", "13", "--max-time", "0.001"]), 13);
    assert_eq!(blocks(&["--min-runs", "3", "--max-runs", "3"]), 3);
    // Without a minimum this ends after one block.
    assert_eq!(blocks(&["-m", "3", "-M", "3", "--max-time", "0.000001"]), 3);
    for (wrong, wanted) in [
        (&["-m", r"t=(\d)"][..], "--metric finds a figure"),
        (
            &["-m", "5", "-M", "4"],
            "--min-runs 5 is more than --max-runs 4",
        ),
        (&["-r", "5", "-M", "4"], "cannot be used with"),
        (&["-M", "0"], "from 1 to"),
    ] {
        let line = place.fails(2, &[&["true", "true"], wrong].concat());
        says(&line, &[wanted]);
    }
}

#[test]
fn an_early_end_waits_for_the_minimum() {
    let place = Home::new();
    let commands = ["sh -c 'echo 1'", "sh -c 'echo 2'", "--metric", r"\d"];
    let early = ["--early", "-m", "9", "-M", "30"];
    let result = place.result(&[&commands[..], &early].concat());
    let blocks = only(&result).blocks.len();
    assert!((9..30).contains(&blocks), "{blocks}");
}

#[test]
fn a_repeated_name_may_have_commas_and_the_rest_have_their_own() {
    let place = Home::new();
    let run = ["true", "true", "-r", "1"];
    let named = |names: &[&str]| arms(&place, &[&run, names].concat());
    assert_eq!(named(&["-n", "a, b", "-n", "c"]), ["a, b", "c"]);
    assert_eq!(named(&["--command-name", "old"]), ["old", "true"]);
    assert_eq!(named(&["-n", "a,b"]), ["a", "b"]);
    assert_eq!(named(&["--names", "a,b"]), ["a", "b"]);
    let swept = ["true {n}", "-L", "n", "1,2", "-r", "1", "-n"];
    assert_eq!(
        arms(&place, &[&swept[..], &["with {n}"]].concat()),
        ["with 1", "with 2"]
    );
    assert_eq!(
        arms(&place, &[&swept[..], &["x"]].concat()),
        ["x n=1", "x n=2"]
    );
    let line = place.fails(2, &["true", "-n", "a", "-n", "b"]);
    says(&line, &["--command-name has 2 names for 1 command"]);
}

#[test]
fn a_reference_is_the_baseline_and_not_swept() {
    let place = Home::new();
    let reference = ["--reference", "true", "--reference-name", "old", "-r", "1"];
    let plain = [&["false", "-i", "-n", "new"][..], &reference].concat();
    assert_eq!(arms(&place, &plain), ["old", "new"]);
    let swept = [&["true {n}", "-L", "n", "1,2"][..], &reference].concat();
    assert_eq!(arms(&place, &swept), ["old", "n=1", "n=2"]);
    let line = place.fails(2, &["true", "--reference-name", "old"]);
    says(&line, &["--reference <COMMAND>"]);
}

#[test]
fn a_conclusion_runs_after_every_run_even_a_failed_one() {
    let place = Home::new();
    let around = [
        "-p",
        "echo p >> log",
        "-C",
        "echo c >> log",
        "-w",
        "1",
        "-r",
        "1",
    ];
    place.result(&[&["sh -c 'echo r >> log'"][..], &around].concat());
    assert_eq!(place.lines("log"), ["p", "r", "c", "p", "r", "c"]);
    place.fails(1, &["false", "--conclude", "echo c >> failed"]);
    assert_eq!(place.lines("failed"), ["c"]);
    let line = place.fails(1, &["true", "-C", "exit 4"]);
    says(&line, &["`--conclude` failed: exit code 4"]);
    let line = place.fails(2, &["true", "true", "true", "-C", "a", "-C", "b"]);
    says(&line, &["--conclude is given 2 times for 3 commands"]);
}

#[test]
fn some_codes_are_ignored_and_others_end_it() {
    let place = Home::new();
    place.result(&["sh -c 'exit 3'", "-i=3,4", "-r", "1"]);
    place.result(&["sh -c 'kill -9 $$'", "--ignore-failure=137", "-r", "1"]);
    place.result(&["false", "--ignore-failure=all-non-zero", "-r", "1"]);
    let line = place.fails(1, &["sh -c 'exit 5'", "-i=3,4"]);
    says(&line, &["failed: exit code 5"]);
}

#[test]
fn a_shell_is_named_with_or_without_an_equals_sign() {
    let place = Home::new();
    let shell = |option: &[&str]| {
        let command = "echo $0 >> shell; true $((1))";
        place.result(&[option, &[command, "-r", "1"]].concat());
        place.lines("shell").pop().unwrap()
    };
    assert_eq!(shell(&["-S", "sh"]), "sh");
    assert_eq!(shell(&["--shell", "bash --norc"]), "bash");
    assert_eq!(shell(&["--shell=bash"]), "bash");
    assert_eq!(shell(&["-S", "default"]), "sh");
    for none in [&["-N"][..], &["--shell=none"], &["-S", "none"]] {
        let line = place.fails(2, &[none, &["a | b"]].concat());
        says(&line, &["needs a shell"]);
    }
    // Its first command is not taken for a shell.
    let line = place.fails(2, &["--shell", "echo a", "echo b"]);
    says(&line, &["`echo a` is not the name of a shell"]);
}

#[test]
fn output_goes_where_the_user_wants() {
    let place = Home::new();
    let print = "sh -c 'echo to-out; echo to-err >&2'";
    let (shown, talk) = ended(0, &place.run(&[print, "-r", "2", "--show-output"]));
    assert_eq!(shown.matches("to-out\n").count(), 2, "{shown}");
    assert_eq!(talk.matches("to-err\n").count(), 2, "{talk}");
    let output = place.run(&[print, "-r", "1", "-q"]);
    assert!(!said(&output).contains("to-err\n") && !ended(0, &output).0.contains("to-out\n"));

    place.result(&[
        print, "true", "-r", "1", "--output", "./a", "--output", "null",
    ]);
    assert_eq!(place.lines("a"), ["to-out"]);
    // A program that stops when nobody reads would be killed, or wait forever.
    place.result(&[
        "sh -c 'test -p /dev/stdout && seq 200000'",
        "-r",
        "1",
        "--output=pipe",
    ]);
    place.result(&["sh -c 'test -c /dev/stdout'", "-r", "1", "--output", "null"]);
    place.write("in", "x\n");
    place.result(&["grep x", "-r", "1", "--input", "in"]);
    place.fails(1, &["grep x", "-r", "1", "--input", "null"]);

    let line = place.fails(2, &["true", "--output", "nul"]);
    says(&line, &["./nul"]);
    let line = place.fails(2, &["true", "--show-output", "--json", "-"]);
    says(&line, &["write that to a file"]);
    let line = failed(
        1,
        &place.run(&["sh -c 'echo why >&2; exit 3'", "--show-output"]),
    );
    says(&line, &["its messages are above"]);
}

#[test]
fn options_with_another_name_here_are_refused_with_it() {
    let place = Home::new();
    for (option, wanted) in [
        (["--style", "basic"], "NO_COLOR=1"),
        (["--export-asciidoc", "a"], "--export-markdown"),
        (["--export-orgmode", "a"], "--export-markdown"),
        (["--min-benchmarking-time", "3"], "--min-runs"),
    ] {
        let line = place.refuses(&[&["compare", "echo x >> log"][..], &option].concat());
        says(&line, &[wanted]);
    }
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 0);
}
