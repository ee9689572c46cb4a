//! Refused command lines, and failures.

use super::place::{failed, only, values};
use crate::lab::{Home, says};

#[test]
fn bad_input_is_one_line_and_nothing_is_run_or_stored() {
    let place = Home::new();
    let mut pipe = place.command("mkfifo");
    assert!(pipe.arg("pipe").status().unwrap().success());
    let log = "sh -c 'echo ran >> log'";
    for (arguments, expected) in [
        (&[][..], "give a command in quotes"),
        (&["--reference", log], "give a command in quotes"),
        (
            &[log, "no-such-program"],
            "there is no program `no-such-program` in PATH",
        ),
        (&[log, "/no/such"], "there is no program /no/such"),
        (&[log, "/"], "/ is a directory"),
        (&[log, "/etc/passwd"], "is not executable"),
        (&[log, ""], "command 2 is empty"),
        (&[log, "echo 'a"], "has an unmatched '"),
        (&[log, "a | b", "--shell=none"], "needs a shell (|)"),
        (&[log, log, "--shell=no-such-shell"], "`no-such-shell`"),
        (&[log, log, "--names", "a,a"], "`a` is given twice"),
        (
            &[log, log, "--names", "a"],
            "--names has 1 name for 2 commands",
        ),
        (
            &[log, log, "--names", "a,control"],
            "is the name of the control",
        ),
        (&[log, log, "--names", "a,"], "name 2 is empty"),
        (
            &[log, log, "--input", "missing"],
            "--input missing cannot be read",
        ),
        (
            &[log, log, "--input", "pipe"],
            "--input pipe can be read only once",
        ),
        (
            &[log, log, "--json", "no/such/dir/r.json"],
            "--json no/such/dir/r.json",
        ),
    ] {
        let line = place.fails(2, arguments);
        assert!(line.contains(expected), "{arguments:?}: {line}");
    }
    for wrong in [["--blocks", "0"], ["--timeout", "0"], ["--margin", "-1"]] {
        let output = place.run(&[&[log, log][..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    assert_eq!(place.lines("log"), [""; 0]);
    assert!(!place.path("data").exists());
}

#[test]
fn a_command_that_fails_ends_the_comparison_with_its_last_words() {
    let place = Home::new();
    let failing = "sh -c 'echo first >&2; echo last words >&2; exit 3'";
    let output = place.run(&["true", failing, "--names", "good,bad"]);
    let line = failed(1, &output);
    assert!(
        line.starts_with("`bad` failed: exit code 3: last words"),
        "{line}"
    );
    says(&line, &["--ignore-failure"]);
    assert!(
        output.stdout.is_empty(),
        "nothing was measured, nothing is shown"
    );
    let line = place.fails(1, &["true", "true", "--prepare", "exit 9"]);
    says(&line, &["`--prepare` failed: exit code 9"]);
    let line = place.fails(1, &["true", "sh -c 'kill -SEGV $$'", "-w", "1"]);
    says(&line, &["killed by SIGSEGV"]);
}

#[test]
fn failures_count_as_runs_when_the_user_says_so() {
    let place = Home::new();
    let result = place.result(&["false", "sh -c 'kill -9 $$'", "-i", "--blocks", "2"]);
    assert!(
        only(&result)
            .arms
            .iter()
            .all(|arm| values(arm, "wall_s").len() == 2)
    );
    let line = place.fails(1, &["true", "sleep 1000", "-i", "--timeout", "0.3"]);
    assert!(
        line.starts_with("`sleep 1000` took more than 0.3 s and was stopped"),
        "{line}"
    );
}

#[test]
fn a_command_that_insists_on_a_terminal_fails_at_once() {
    let place = Home::new();
    let line = place.fails(1, &["true", "sh -c ': < /dev/tty'"]);
    says(&line, &["/dev/tty"]);
}

#[test]
fn a_missing_valgrind_is_said_before_anything_is_measured() {
    let place = Home::new();
    let mut command = place.compare(&["/bin/true", "/bin/true", "--counters", "callgrind"]);
    let output = command.env("PATH", place.path("")).output().unwrap();
    let line = failed(2, &output);
    says(&line, &["apt-get install valgrind"]);
    assert!(!place.path("data").exists());
}
