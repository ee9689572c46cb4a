use std::fs;

use super::home::{Home, json, refused, with};
use crate::lab::{FURLONG, ended, says, words};

const GLIBC: [&str; 3] = ["t", "--subject", "glibc"];

/// Runs `furlong record malloc`, checks the exit code, and returns stderr.
#[track_caller]
fn record(home: &Home, code: i32, arguments: &[&str]) -> String {
    // The default takes half a gigabyte, which a test machine may not have.
    let few = ["--events", "1000000"];
    let few = if arguments.contains(&"--events") {
        &few[..0]
    } else {
        &few
    };
    let all = [&["record", "malloc"], few, arguments].concat();
    home.0.ends(code, &all).1
}

fn trace(home: &Home) -> String {
    fs::read_to_string(home.path("t")).unwrap()
}

fn count(trace: &str, letter: &str) -> usize {
    let begins = |line: &&str| line.split(' ').next() == Some(letter);
    trace.lines().filter(begins).count()
}

#[test]
fn the_recordings_of_the_repository_replay_without_a_wrong_answer() {
    let home = Home::new();
    for name in ["gcc", "git"] {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/malloc");
        let path = format!("{root}/{name}.malloctrace.zst");
        let outcome = json(&home, &[path.as_str(), "--subject", "glibc"]);
        let subject = &outcome["subjects"][0];
        assert_eq!(
            (subject["name"].as_str(), subject["wrong"].as_u64()),
            (Some("glibc"), Some(0))
        );
        let calls = if name == "gcc" { 47_696 } else { 232_491 };
        assert_eq!(subject["answers"].as_u64(), Some(calls));
    }
}

#[test]
fn a_packed_trace_that_was_cut_off_is_not_taken_for_another_kind() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../traces/malloc/gcc.malloctrace.zst"
    );
    let whole = fs::read(path).unwrap();
    // So little decodes to nothing, not even to the trace's header.
    for bytes in [whole.len() * 3 / 4, 200] {
        let said = refused(&whole[..bytes]);
        says(&said, &["the zstd data cannot be unpacked"]);
        assert!(!said.contains("address spaces"), "{said}");
    }
    // An empty frame, and one block of text that is not a trace.
    assert!(refused(b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00").contains("it is empty"));
    let said = refused(b"\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00hi");
    says(&said, &["the unpacked data is not a known trace"]);
}

#[test]
fn what_is_recorded_replays_at_once() {
    let home = Home::new();
    let script = "ls / >/dev/null; ls /bin >/dev/null";
    record(&home, 0, &["-o", "t", "--", "sh", "-c", script]);
    let trace = trace(&home);
    // The shell, and ls twice.
    assert!(count(&trace, "p") >= 3, "{trace}");
    assert!(count(&trace, "m") > 100 && count(&trace, "f") > 20);
    let (page, _) = home.ends(0, &GLIBC);
    says(&page, &[" 0 wrong", "glibc"]);
    assert!(
        home.path("").read_dir().unwrap().count() == 1,
        "the log is gone"
    );
}

#[test]
fn a_program_that_is_killed_has_left_all_that_it_asked() {
    let home = Home::new();
    let script = "ls / >/dev/null; kill -9 $$";
    let said = record(&home, 0, &["-o", "t", "--", "sh", "-c", script]);
    says(&said, &["the command has failed"]);
    let whole = Home::new();
    record(
        &whole,
        0,
        &["-o", "t", "--", "sh", "-c", "ls / >/dev/null; :"],
    );
    let calls = |home: &Home| count(&trace(home), "m") + count(&trace(home), "z");
    // A shell that exits by itself frees more, but hardly allocates more.
    assert!(
        calls(&home) + 20 > calls(&whole),
        "{} {}",
        calls(&home),
        calls(&whole)
    );
    home.ends(0, &GLIBC);
}

#[test]
fn what_has_no_room_is_counted_and_the_rest_replays() {
    let home = Home::new();
    let said = record(&home, 0, &["--events", "40", "-o", "t", "--", "ls", "/"]);
    says(&said, &["calls came after the log was full"]);
    let trace = trace(&home);
    let all: usize = ["m", "z", "f", "r"]
        .iter()
        .map(|kind| count(&trace, kind))
        .sum();
    assert!((20..40).contains(&all), "{all} calls");
    home.ends(0, &GLIBC);
}

#[test]
fn a_trace_may_go_to_a_pipe() {
    let home = Home::new();
    let record = words("record malloc --events 5000 -o /dev/stdout -- sh -c :");
    let (trace, _) = home.0.ends(0, &record);
    assert!(trace.starts_with("# malloctrace 1\n# sh -c :\n"), "{trace}");
    assert_eq!(home.path("").read_dir().unwrap().count(), 0);
}

#[test]
fn what_cannot_be_recorded_is_said_in_a_line() {
    let home = Home::new();
    for (arguments, code, why) in [
        (
            &["-o", "t", "--", "no-such-program"][..],
            2,
            "no such program",
        ),
        (&["-o", "no/t", "--", "ls"], 2, "cannot be written"),
        (&["--events", "0", "-o", "t", "--", "ls"], 2, "--events"),
        (
            &["--events", "1099511627776", "-o", "t", "--", "ls"],
            2,
            "No space left on device): record fewer with --events N",
        ),
    ] {
        let said = record(&home, code, arguments);
        assert!(said.contains(why) && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_trace_that_is_wrong_from_some_line_on_is_run_up_to_there() {
    let home = with(b"# malloctrace 1\np\nm 100 4096\nz 3000\nr 0 9\nf 7\nm 1\n");
    let (page, said) = home.ends(2, &GLIBC);
    says(&page, &["2 allocations, 1 resizes, 0 frees"]);
    says(&said, &["t: line 6: block 7 is not live here"]);
    assert!(refused(b"# malloctrace 1\n# nothing\n").contains("holds no call"));
    let said = with(b"# malloctrace 1\nm 1\n").refuses(&["t", "--subject", "rbtree"]);
    says(&said, &["unknown subject `rbtree`"]);
}

#[test]
fn more_than_there_is_fails_and_does_not_pass() {
    let home = with(b"# malloctrace 1\nm 1099511627776\n");
    let limited = "ulimit -v 8000000 && exec \"$0\" replay t --subject glibc";
    let mut command = home.0.command("sh");
    command.args(["-c", limited, FURLONG]);
    let (page, said) = ended(1, &command.output().unwrap());
    says(&page, &["WRONG", "no memory for"]);
    says(&said, &["1 wrong answers"]);
}
