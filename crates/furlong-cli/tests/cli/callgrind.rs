//! Instruction counts of real programs. Without valgrind, only the error is tested; the rest is
//! skipped with a note.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use furlong_lab::measure::launch::callgrind::{Callgrind, CallgrindError, Count};
use furlong_lab::measure::launch::finished::Ending;
use furlong_lab::measure::launch::launcher::{Launcher, Task};
use furlong_lab::model::result::Kind;

use crate::lab::{Home, read, says, words};

/// Counts a task's instructions; `None` without valgrind.
fn count(task: &Task) -> Option<Result<Count, CallgrindError>> {
    let Ok(callgrind) = Callgrind::new() else {
        eprintln!("there is no valgrind: nothing is tested here");
        assert!(
            std::env::var_os("CI").is_none(),
            "valgrind is to be installed there"
        );
        return None;
    };
    Some(callgrind.count(&Launcher::new().unwrap(), task, None))
}

/// Builds a program with only the given instructions.
fn program(directory: &Path, name: &str, instructions: &str) -> PathBuf {
    let text = format!("int main(void) {{ __asm__ volatile(\"{instructions}\"); return 0; }}\n");
    built(directory, name, &text, &[])
}

fn built(directory: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let source = directory.join(format!("{name}.c"));
    fs::write(&source, text).unwrap();
    let path = directory.join(name);
    let built = Command::new("cc")
        .args(options)
        .arg("-O1")
        .arg("-o")
        .arg(&path)
        .arg(&source)
        .status();
    assert!(built.unwrap().success());
    path
}

#[test]
fn counts_are_identical_in_repeated_passes_and_one_more_instruction_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let one = Task::new(program(directory.path(), "one", "nop"), &[]);
    let two = Task::new(program(directory.path(), "two", "nop\\n nop"), &[]);
    let Some(first) = count(&one) else { return };
    let first = first.unwrap().instructions;
    for pass in 0..2 {
        let again = count(&one).unwrap().unwrap().instructions;
        assert_eq!(again, first, "pass {pass}");
        let other = count(&two).unwrap().unwrap().instructions;
        assert_eq!(other, first + 1, "pass {pass}");
    }
}

#[test]
fn a_count_does_not_depend_on_the_environment() {
    let mut task = Task::new("/bin/true", &[]);
    let Some(first) = count(&task) else { return };
    task.environment = vec![("LONG".into(), "x".repeat(3000).into())];
    let other = count(&task).unwrap().unwrap();
    assert_eq!(other.instructions, first.unwrap().instructions);
}

#[test]
fn the_processes_that_a_command_starts_are_counted_too() {
    let script = |text| count(&Task::new("/bin/sh", &["-c", text]));
    let Some(one) = script("/bin/true; exit 5") else {
        return;
    };
    let one = one.unwrap();
    assert_eq!(
        (one.profiles.len(), one.finished.ending),
        (2, Ending::Exited(5))
    );
    // The subshell is a fork, whose parent's work is not counted again.
    let more = script("/bin/true; (: ; :); /bin/true; exit 5");
    let more = more.unwrap().unwrap();
    assert_eq!(more.profiles.len(), 4);
    let alone = count(&Task::new("/bin/true", &[])).unwrap().unwrap();
    let [one, more, alone] = [&one, &more, &alone].map(|count| count.instructions);
    let shell = one - alone;
    let counts = one + alone..one + alone + shell / 2;
    assert!(counts.contains(&more), "{one} {more} {alone}");
}

#[test]
fn a_process_that_was_killed_leaves_no_count() {
    // The subshell's child kills it.
    let script = "(/bin/sh -c 'kill -9 $PPID'; :); exit 5";
    match count(&Task::new("/bin/sh", &["-c", script])) {
        None => {}
        Some(Err(error @ CallgrindError::NoCount(_))) => says(&error.to_string(), &["was killed"]),
        Some(other) => panic!("{:?}", other.map(|count| count.instructions)),
    }
}

#[test]
fn a_fork_that_callgrind_does_not_see_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = "#include <sys/wait.h>\n#include <unistd.h>\n\
                int main(void) { if (fork() == 0) _exit(0); wait(0); return 0; }\n";
    let path = built(directory.path(), "forks", text, &["-static", "-s"]);
    match count(&Task::new(&path, &[])) {
        None => {}
        Some(Err(error @ CallgrindError::NoCount(_))) => says(&error.to_string(), &["`strip`"]),
        Some(other) => panic!("{:?}", other.map(|count| count.instructions)),
    }
}

#[test]
fn an_instruction_that_no_processor_knows_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let unknown = if cfg!(target_arch = "x86_64") {
        "ud2"
    } else {
        "udf #0"
    };
    let path = program(directory.path(), "unknown", unknown);
    match count(&Task::new(&path, &[])) {
        None => {}
        Some(Err(CallgrindError::UnknownInstruction(program))) => assert_eq!(program, path),
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_command_that_does_not_end_is_stopped() {
    let mut task = Task::new("/bin/sleep", &["1000"]);
    task.limit = Some(Duration::from_millis(300));
    match count(&task) {
        None => {}
        Some(Err(error @ CallgrindError::Failed(Ending::TimedOut, _))) => {
            assert!(error.to_string().contains("time limit"), "{error}");
        }
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_valgrind_is_said_with_the_command_that_installs_it() {
    let text = CallgrindError::Missing.to_string();
    says(&text, &["apt-get install valgrind"]);
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn an_experiment_has_its_instructions_per_operation_and_they_are_exact() {
    if Callgrind::new().is_err() {
        return;
    }
    let home = Home::new();
    let counted = || {
        let run = words(
            "run tree-order --workloads plain --arms btreemap,checked --profile smoke --blocks 1 \
             --seed 4 --counters callgrind --db none --json result.json",
        );
        home.ends(0, &run);
        let result = read(&home.path("result.json"));
        let experiment = &result.experiments[0];
        assert_eq!(experiment.metrics["instructions_per_op"].kind, Kind::Exact);
        let arms = experiment.workloads[0].arms.iter();
        arms.map(|arm| arm.samples["instructions_per_op"].clone())
            .collect::<Vec<_>>()
    };
    let first = counted();
    for values in &first {
        assert!(
            matches!(values[..], [Some(count)] if count > 1.0),
            "{first:?}"
        );
    }
    assert_eq!(counted(), first);
}
