//! Traces of `vmspace`: recordings of real programs, complete, truncated, reordered and edited.

use std::fs;
use std::path::{Path, PathBuf};

use furlong_spec::vmspace::trace::{HEADING, read};
use serde_json::Value;

use super::home::{Home, json, refused, with};
use crate::lab::says;

const ARMS: [&str; 3] = ["rbtree", "maple", "maple-mut"];

fn trace(name: &str) -> PathBuf {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/vmspace");
    traces.join(name)
}

fn cut() -> PathBuf {
    trace("kernbench-cut.vmtrace.zst")
}

/// The first lines of the recorded kernel build, unpacked.
fn lines(count: usize) -> Vec<String> {
    let events = read(&cut()).events;
    let events = events.iter().take(count).map(|event| format!("{event}\n"));
    [format!("{HEADING}\n")].into_iter().chain(events).collect()
}

/// The first line with this letter after line `from`, and its number, counted from one.
fn find(lines: &[String], letter: &str, from: usize) -> usize {
    let is_one = |line: &&String| line.split(' ').nth(1) == Some(letter);
    let at = lines.iter().skip(from).position(|line| is_one(&line));
    from + at.unwrap_or_else(|| panic!("there is no line with {letter}"))
}

/// A subject's summary of all differing answers to an operation.
fn differing<'a>(outcome: &'a Value, arm: usize, operation: &str) -> &'a Value {
    let all = outcome["subjects"][arm]["differing"].as_array().unwrap();
    let mut all = all.iter().filter(|one| one["operation"] == operation);
    all.next().unwrap_or_else(|| panic!("{outcome:#}"))
}

/// Checks for wrong answers (exit code 1), and returns the outcome.
fn wrong(home: &Home) -> (String, Value) {
    let (page, talk) = home.ends(1, &["t", "--json", "r.json"]);
    says(&talk, &["wrong answers, see above"]);
    let outcome = fs::read_to_string(home.path("r.json")).unwrap();
    (page, serde_json::from_str(&outcome).unwrap())
}

#[test]
fn a_recorded_build_is_answered_as_the_kernel_did_by_every_arm() {
    let home = Home::new();
    let (page, talk) = home.ends(0, &[&cut().display().to_string()]);
    assert_eq!(talk, "");
    says(&page, &["24000 events of 104 spaces"]);
    let row = page.lines().find(|line| line.starts_with("wrong")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["wrong", "0", "0", "0"]
    );
    for class in [
        "map ",
        "map-fixed ",
        "unmap ",
        "protect ",
        "brk ",
        "fork ",
        "fault ",
    ] {
        let row = page.lines().find(|line| line.starts_with(class));
        let words = row
            .unwrap_or_else(|| panic!("{class}: {page}"))
            .split_whitespace();
        assert_eq!(words.count(), 5, "a count, and a time of each arm: {page}");
    }
    // The first line has the file's name, which may be long.
    let mut lines = page.lines().skip(1);
    assert!(lines.all(|line| line.chars().count() <= 100), "{page}");
}

#[test]
fn programs_can_read_what_came_of_it() {
    let home = Home::new();
    let outcome = json(
        &home,
        &[&cut().display().to_string(), "--subject", "maple,rbtree"],
    );
    assert_eq!(
        (&outcome["judge"], &outcome["fault"]),
        (&"kernel".into(), &Value::Null)
    );
    for (at, name) in ["maple", "rbtree"].into_iter().enumerate() {
        let subject = &outcome["subjects"][at];
        assert_eq!(
            (&subject["name"], &subject["wrong"]),
            (&name.into(), &0.into())
        );
        assert!(subject["differing"].as_array().unwrap().is_empty());
        let kinds = subject["kinds"].as_array().unwrap();
        let faults = kinds.iter().find(|kind| kind["name"] == "fault").unwrap();
        assert!(faults["operations"].as_u64().unwrap() > 19_000, "{faults}");
        assert!(faults["time_ns_per_op"].as_f64().unwrap() > 0.0, "{faults}");
    }
}

#[test]
fn what_can_be_unpacked_of_a_file_that_was_cut_off_is_run() {
    let whole = fs::read(cut()).unwrap();
    let home = with(&whole[..whole.len() / 2]);
    let (page, talk) = home.ends(2, &["t"]);
    says(&page, &[" 0 wrong."]);
    let said = talk.trim_end();
    assert!(said.starts_with("furlong: t: line "), "{talk}");
    assert!(
        said.ends_with("; the lines before it were replayed"),
        "{talk}"
    );
    assert!(said.contains("cannot be unpacked any further") || said.contains("has no line end"));
    assert_eq!(talk.lines().count(), 1, "{talk}");
}

#[test]
fn a_text_that_was_cut_off_is_run_up_to_the_line_where_it_was() {
    let text = lines(3000).concat();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    // In the middle of line 2001 and of the last one.
    for line in [2000, ends.len() - 1] {
        let middle = ends[line - 1] + 4;
        let home = with(&text.as_bytes()[..middle]);
        let (page, talk) = home.ends(2, &["t", "--subject", "rbtree"]);
        says(&page, &[&format!("{} events of", line - 1)]);
        let said = format!(
            "t: line {}: the line has no end; the file was cut off here",
            line + 1
        );
        says(&talk, &[&said]);
    }
}

#[test]
fn a_line_out_of_order_is_named_and_what_stands_before_it_is_run() {
    let mut lines = lines(3000);
    let at = find(&lines, "f", 1500);
    let late = lines.remove(at);
    lines.insert(at + 100, late);
    let (page, talk) = with(lines.concat().as_bytes()).ends(2, &["t"]);
    says(&page, &[&format!("{} events of", at + 99)]);
    let said = format!("furlong: t: line {}: ", at + 101);
    assert!(talk.starts_with(&said), "{talk}");
    assert!(
        talk.ends_with("keep the order of time; the lines before it were replayed\n"),
        "{talk}"
    );
}

#[test]
fn lines_that_were_swapped_are_wrong_answers_and_out_of_order() {
    let mut lines = lines(3000);
    lines.swap(1500, 1600);
    let (page, talk) = with(lines.concat().as_bytes()).ends(1, &["t", "--subject", "rbtree"]);
    says(&page, &["rbtree: WRONG: line 1501: fault: at 0x"]);
    says(&talk, &["1 wrong answers, see above; t: line 1502: "]);
    assert!(
        talk.ends_with("; the lines before it were replayed\n"),
        "{talk}"
    );
}

#[test]
fn an_answer_that_was_edited_is_listed_with_its_line_by_every_arm() {
    let mut lines = lines(3000);
    let at = find(&lines, "u", 500);
    let call = lines[at].split('=').next().unwrap().to_owned();
    lines[at] = format!("{call}= -22\n");
    let (page, outcome) = wrong(&with(lines.concat().as_bytes()));
    for (arm, name) in ARMS.into_iter().enumerate() {
        let unmap = differing(&outcome, arm, "unmap");
        assert_eq!(unmap["lines"], Value::from(vec![at + 1]));
        assert_eq!(unmap["how"], "the kernel says errno 22, the subject ok");
        let said = format!("{name}: unmap: 1 x the kernel says errno 22, the subject ok: line");
        says(&page, &[&format!("{said} {}\n", at + 1)]);
    }
}

#[test]
fn a_fault_without_an_area_or_its_right_is_counted_and_says_why() {
    let mut lines = lines(3000);
    let (one, other) = (find(&lines, "f", 700), find(&lines, "f", 900));
    let moved = |line: &str, address: &str, code: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        format!("{} f {} {address} {code}\n", words[0], words[2])
    };
    // One fault at an unmapped address, and a write fault at a page of code.
    let pid = lines[other].split(' ').nth(2).unwrap().to_owned();
    let is_vdso = |line: &&String| line.contains(&format!(" i {pid} ")) && line.contains("[vdso]");
    let vdso = lines[..other].iter().rev().find(is_vdso).unwrap();
    let vdso = vdso.split(' ').nth(3).unwrap().to_owned();
    lines[one] = moved(&lines[one], "10000", "4");
    lines[other] = moved(&lines[other], &vdso, "7");
    let (_, outcome) = wrong(&with(lines.concat().as_bytes()));
    let all = outcome["subjects"][0]["differing"].as_array().unwrap();
    let faults = all.iter().filter(|kind| kind["operation"] == "fault");
    let faults: Vec<(&Value, &Value)> = faults.map(|kind| (&kind["how"], &kind["lines"])).collect();
    let (one, other) = (Value::from(vec![one + 1]), Value::from(vec![other + 1]));
    let expected = [
        (&"the address is not mapped".into(), &one),
        (&"the area does not allow this access".into(), &other),
    ];
    assert!(
        expected.iter().all(|kind| faults.contains(kind)),
        "{faults:?}"
    );
    assert_eq!(outcome["subjects"][0]["wrong"], 2);
}

#[test]
fn any_line_may_be_missing_doubled_or_of_another_letter() {
    let whole = lines(1500);
    for at in (1..whole.len()).step_by(97) {
        let mut missing = whole.clone();
        missing.remove(at);
        let mut doubled = whole.clone();
        doubled.insert(at, whole[at].clone());
        let mut other = whole.clone();
        other[at] = whole[at]
            .replace(" m ", " u ")
            .replace(" f ", " x ")
            .replace(" i ", " c ");
        for lines in [missing, doubled, other] {
            let home = with(lines.concat().as_bytes());
            let (code, _, talk) = home.output(&["t", "--subject", "maple-mut"]);
            assert!(matches!(code, 0..=2), "line {at}: {talk}");
            assert!(!talk.contains("panicked"), "line {at}: {talk}");
        }
    }
}

#[test]
fn numbers_that_no_kernel_writes_are_answered_and_not_believed() {
    let lines = [
        HEADING,
        "1 x 7",
        "1 i 7 7ffffffde000 21001 3 [stack]",
        "1 i 7 7fff00000000 1001 3 a",
        "1 i 7 fffffffffffff000 ffffffffffffffff 7 b",
        "2 m 7 0 ffffffffffffffff 3 22 -1 0 = 1",
        "2 m 7 1 1 99999999999 ffffffffffffffff -1 fff = 7000",
        "3 b 7 ffffffffffffffff = 1",
        "3 b 7 0 = 0",
        "4 r 7 1 2 3 ffffffff 5 = 6",
        "5 c 7 7 0",
        "6 e 9 9",
        "7 e 7 7",
        "8 f 7 0 ffffffffffffffff",
        "8 c 7 8 100",
        "8 x 8",
        "8 e 7 7",
        "8 e 7 7",
        "9 u 8 0 ffffffffffffffff = 0",
        "9 p 8 0 ffffffffffffffff 7 = 0",
    ];
    let text = lines.map(|line| format!("{line}\n")).concat();
    let (page, _) = wrong(&with(text.as_bytes()));
    says(&page, &["19 events of"]);
}

#[test]
fn what_is_no_trace_is_refused_in_a_line() {
    assert_eq!(refused(b"# vmtrace 1\n"), "t: holds no event");
    assert_eq!(
        refused(b"# vmtrace 2\n0 x 1\n"),
        "t: line 1: `# vmtrace 2`: a trace begins with `# vmtrace 1`"
    );
    assert_eq!(
        refused(b"# vmtrace 1\n0 x\n"),
        "t: line 2: the process is missing"
    );
    let packed = refused(b"\x28\xb5\x2f\xfdnot packed at all");
    assert!(
        packed.starts_with("t: the zstd data cannot be unpacked"),
        "{packed}"
    );
    let unknown = refused(b"12\n");
    says(&unknown, &["a recording of address spaces (vmtrace 1"]);
    let home = with(b"# vmtrace 1\n0 x 1\n");
    let said = home.refuses(&["t", "--subject", "mapel"]);
    says(&said, &["unknown subject `mapel`: did you mean `maple`?"]);
}
