//! `furlong stat` from a user's view: its output for good files, and for every bad one.

use std::fs::{self, File, OpenOptions};
use std::process::Command;

use crate::lab::{Home, ended, says};
use serde_json::Value;

/// A folder with the files named in the tests.
fn folder() -> Home {
    let folder = Home::new();
    for (name, text) in [
        ("old", "11\n12\n10\n13\n11\n10\n12\n11\n"),
        ("new", "9\n10\n10\n9\n11\n9\n10\n9\n"),
        ("three", "218.52\n217.24\n218.47\n"),
        ("other", "216.60\n217.07\n216.47\n"),
        ("crlf", "1\r\n\r\n2\r\n3\r\n"),
        ("unended", "1\n2\n3"),
        ("hex", "0x10\n0x1.8p1\n1e1\n2E+0\n"),
        ("table", "a 1\nb 2\nc\nd 3\n"),
        ("empty", ""),
        ("comments", "# nothing\n\n"),
        ("two", "1\n2\n"),
        ("text", "# ms\n1\n2\ntwelve\n4\n"),
        ("nan", "1\nnan\n2\n3\n"),
        ("inf", "1\n2\n3\n-Infinity\n"),
        ("huge", "1\n1e999\n2\n"),
        ("wide", "1e200\n-1e200\n3e200\n"),
        ("faint", "1e-320\n2e-320\n5e-320\n"),
        ("binary", "1\n2\n3\n\0\u{1}\n"),
        ("offset", "1000000000\n1000000000.1\n1000000000.2\n"),
    ] {
        folder.write(name, text);
    }
    fs::create_dir(folder.path("directory")).unwrap();
    folder
}

fn stat(folder: &Home, args: &[&str]) -> Command {
    let mut command = folder.furlong(&[&["stat"], args].concat());
    command.env_remove("COLUMNS");
    command
}

/// The output over files of the folder. Nothing else is printed.
fn printed(folder: &Home, args: &[&str]) -> String {
    let (printed, talk) = ended(0, &stat(folder, args).output().unwrap());
    assert_eq!(talk, "", "{args:?}");
    printed
}

fn said(args: &[&str]) -> String {
    printed(&folder(), args)
}

/// Checks that stdout is empty, stderr is one line, and the exit code is `code`.
fn refused(args: &[&str], code: i32) -> String {
    let (printed, talk) = ended(code, &stat(&folder(), args).output().unwrap());
    assert_eq!(printed, "", "{args:?}");
    let is_line = talk.ends_with('\n') && talk.lines().count() == 1;
    assert!(is_line, "{args:?}: {talk}");
    talk
}

#[test]
fn a_proven_difference_is_said_first_with_its_interval() {
    let text = said(&["old", "new"]);
    let headline = text
        .lines()
        .find(|line| line.contains(" against "))
        .unwrap();
    assert_eq!(
        headline,
        "+ new against x old: 14.4 % less (95 %: 6.12 to 21.9 % less), p = .0033"
    );
    for start in [
        "x old",
        "+ new",
        "* both",
        "    N           Min           Max        Median           Avg        Stddev",
        "x   8            10            13            11         11.25     1.0350983",
        "+   8             9            11           9.5         9.625    0.74402381",
        "    difference      -1.625 [",
        "    ratio of means  0.855556 [",
        "    Student         -1.625 +/- ",
        "    Mann-Whitney    U = ",
        "    Hodges-Lehmann  -2 [",
        "    stddev          0.718795 times, p = ",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(start)),
            "{start}\n{text}"
        );
    }
}

#[test]
fn swapping_the_files_turns_less_into_more() {
    let text = said(&["-A", "new", "old"]);
    let wanted = "+ old against x new: 16.9 % more (95 %: 6.51 to 28.1 % more), p = .0033";
    assert!(text.lines().any(|line| line == wanted), "{text}");
    let text = said(&["-A", "-c", "90", "other", "three"]);
    says(
        &text,
        &[
            "0.629 % more (90 %: ",
            "cannot reach p < .1 with 3 and 3 values by ranks",
        ],
    );
}

#[test]
fn what_is_not_proven_is_said_with_what_is_still_possible() {
    let text = said(&["three", "other"]);
    for part in [
        "no difference proven (95 %: 1.32 % less to 0.0801 % more), p = .0656",
        "cannot reach p < .05 with 3 and 3 values by ranks (at best .1); 4 and 4 can",
        "Student (p = .0405) and Welch (p = .0656) disagree",
        "(no interval: too few values)",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn several_files_are_compared_with_the_first_and_pay_for_it() {
    let text = said(&["old", "new", "old"]);
    says(
        &text,
        &[
            "p = .0033, .0066 by Holm",
            "* old against x old: no difference proven",
            "& several",
        ],
    );
}

#[test]
fn a_base_around_zero_has_a_difference_and_no_ratio() {
    let folder = folder();
    folder.write("around", "-1\n0\n1\n0.5\n");
    let text = printed(&folder, &["-A", "around", "old"]);
    says(
        &text,
        &[
            "+ old against x around: 11.1 more (95 %: ",
            "ratio of means  90 (no interval: its base may be zero)",
            "note: the mean of around is not distinguishable from zero",
        ],
    );
}

#[test]
fn constants_differ_as_a_fact_without_a_test() {
    let folder = folder();
    folder.write("five", "5\n5\n5\n");
    folder.write("six", "6\n6\n6\n");
    let text = printed(&folder, &["five", "six"]);
    says(
        &text,
        &["20 % more, without any variance", "no test is needed"],
    );
    let text = printed(&folder, &["five", "five"]);
    says(
        &text,
        &[
            "no difference, without any variance",
            "[no picture: every value is 5]",
        ],
    );
}

#[test]
fn outliers_and_order_are_mentioned_and_nothing_is_dropped() {
    let folder = folder();
    let drifting: String = (0..30)
        .map(|i| format!("{}\n", 100 + i + i * 7 % 5))
        .collect();
    folder.write("drifting", drifting + "500\n");
    let text = printed(&folder, &["-A", "drifting"]);
    says(
        &text,
        &[
            "x  31 ",
            "1 value beyond 1.5 interquartile ranges (1 beyond 3): kept",
            "the values rise along the file",
        ],
    );
}

#[test]
fn options_choose_what_is_printed() {
    assert!(!said(&["-A", "old", "new"]).contains("+--"));
    let summary = said(&["-n", "old", "new"]);
    assert!(!summary.contains("+--") && !summary.contains("against"));
    let narrow = said(&["-w", "20", "-w", "30", "old", "new"]);
    assert!(narrow.contains(&format!("+{}+\n", "-".repeat(30))));
    assert!(said(&["-c", "99.9", "old", "new"]).contains("(99.9 %: "));
    assert!(said(&["-s", "-A", "-A", "old"]).starts_with("x old\n"));
    let column = said(&["-C", "2", "-A", "table"]);
    says(
        &column,
        &["x   3             1             3             2"],
    );
    assert!(column.contains("1 line without the wanted column left out, the first is line 3"));
    assert!(said(&["-d", " a", "-A", "old"]).starts_with("x old\n"));
}

#[test]
fn files_of_every_custom_are_read() {
    for (file, row) in [("crlf", "x   3 "), ("unended", "x   3 "), ("hex", "x   4 ")] {
        assert!(said(&["-A", file]).contains(row), "{file}");
    }
}

#[test]
fn standard_input_is_read_for_a_dash_and_for_no_file() {
    let folder = folder();
    for args in [&["-A"][..], &["-A", "-"], &["-A", "old", "-"]] {
        let input = File::open(folder.path("new")).unwrap();
        let (text, _) = ended(0, &stat(&folder, args).stdin(input).output().unwrap());
        says(&text, &[" <stdin>\n"]);
    }
    let input = File::open(folder.path("new")).unwrap();
    let mut twice = stat(&folder, &["-", "-"]);
    let (_, talk) = ended(2, &twice.stdin(input).output().unwrap());
    says(&talk, &["<stdin>: is empty"]);
}

#[test]
fn each_bad_file_is_refused_with_its_name_its_line_and_what_to_do() {
    for (file, wanted) in [
        ("missing", "missing: cannot be opened: No such file"),
        ("empty", "empty: is empty; write one number a line"),
        ("comments", "comments: holds no number in 2 lines"),
        ("two", "two: holds 2 values; at least 3 are needed"),
        (
            "text",
            "text: line 4: `twelve` is not a number; begin a heading with #",
        ),
        ("nan", "nan: line 2: `nan` is not a finite number"),
        ("inf", "inf: line 4: `-Infinity` is not finite"),
        ("huge", "huge: line 2: `1e999` is too large"),
        ("wide", "wide: the variance of such large values overflows"),
        (
            "faint",
            "faint: the variance of such small values underflows; scale them up",
        ),
        ("binary", "binary: line 4: holds a NUL byte"),
        ("directory", "directory: is a directory; name a file"),
    ] {
        let talk = refused(&["old", file], 2);
        assert!(
            talk.starts_with(&format!("furlong stat: {wanted}")),
            "{talk}"
        );
    }
    let talk = refused(&["-C", "7", "table"], 2);
    says(
        &talk,
        &["table: no line of 4 has a column 7; choose another with -C"],
    );
    let talk = refused(&["old"; 8], 2);
    says(&talk, &["8 files are too many; compare at most 7"]);
}

#[test]
fn ministats_exit_codes_hold_and_its_crashes_do_not() {
    for (args, code, wanted) in [
        (&["missing"][..], 1, "missing: cannot be opened"),
        (&["two", "missing"], 2, "two: holds 2 values"),
        (&["text"], 2, "text: line 4"),
        (&["nan"], 2, "nan: line 2"),
        (&["-A", "inf"], 2, "inf: line 4"),
        (&["-A", "wide"], 2, "wide: ministat's one-pass variance"),
        (&["-A", "offset"], 2, "offset: ministat's one-pass variance"),
        (&["-w", "1", "old"], 2, "-w 1: ministat cannot draw"),
        (&["-w", "-1", "old"], 2, "-w -1: a width is"),
        (&["-c", "97", "old"], 2, "-c 97: with --ministat"),
        (&["-C", "0", "old"], 2, "-C 0: columns are"),
        (&["-d", "", "old"], 2, "-d needs at least one character"),
        (&["directory"], 2, "directory: is a directory"),
    ] {
        let args = [&["--ministat"], args].concat();
        let talk = refused(&args, code);
        assert!(
            talk.starts_with(&format!("furlong stat: {wanted}")),
            "{talk}"
        );
    }
    assert!(said(&["-A", "offset"]).contains("1e+09    0.10000002"));
}

#[test]
fn bad_options_are_refused_before_any_file_is_read() {
    for (args, wanted) in [
        (&["-c", "100"][..], "-c 100: a confidence is"),
        (&["-c", "x"], "-c x: a confidence is"),
        (&["-w", "1"], "-w 1: a width is a whole number from 2"),
        (&["-w", "1e9"], "-w 1e9: a width is"),
        (&["-C", "-1"], "-C -1: columns are"),
        (&["-d", ""], "-d needs"),
    ] {
        let talk = refused(&[args, &["missing"]].concat(), 2);
        says(&talk, &[wanted]);
    }
    for more in [&["-q"][..], &["--json", "-"]] {
        let args = [&["--ministat"], more, &["old"]].concat();
        ended(2, &stat(&folder(), &args).output().unwrap());
    }
}

#[test]
fn json_holds_what_the_text_says() {
    let folder = folder();
    let args = ["--json", "-", "three", "other"];
    let found = printed(&folder, &args);
    let json: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(json["schema"], "furlong.stat/1");
    assert_eq!(json["confidence_pct"], 95.0);
    assert_eq!(json["sets"][1]["name"], "other");
    assert_eq!(json["sets"][1]["median"], 216.6);
    let comparison = &json["comparisons"][0];
    assert_eq!(comparison["different"], false);
    assert_eq!(comparison["shift_interval"], Value::Null);
    assert_eq!(comparison["mann_whitney_least_p"], 0.1);
    assert_eq!(comparison["notes"].as_array().unwrap().len(), 2);
    let args = ["--json", "out.json", "three", "other"];
    assert!(printed(&folder, &args).starts_with("x three\n"));
    let written = fs::read_to_string(folder.path("out.json"));
    assert_eq!(written.unwrap(), found);
    let talk = refused(&["--json", "no/such/place", "old"], 2);
    says(&talk, &["--json no/such/place: there is no folder"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = folder();
    let stacked = "1\n".repeat(50_000) + "2\n";
    folder.write("stacked", stacked);
    for args in [
        &["--ministat", "stacked"][..],
        &["old", "new"],
        &["--json", "-", "old"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (_, talk) = ended(0, &stat(&folder, args).stdout(writer).output().unwrap());
        assert_eq!(talk, "", "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_and_a_failing_read_are_said() {
    let folder = folder();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (_, talk) = ended(1, &stat(&folder, &["old"]).stdout(full).output().unwrap());
    says(&talk, &["cannot write: No space left"]);
    let talk = refused(&["/proc/self/mem"], 2);
    says(&talk, &["/proc/self/mem: line 1: cannot be read: "]);
}

#[cfg(unix)]
#[test]
fn names_are_shown_without_their_control_characters() {
    let folder = folder();
    let name = "a\u{1b}[2Jb";
    folder.write(name, "1\n2\n3\n");
    let text = printed(&folder, &["-A", name]);
    assert!(text.starts_with("x a\\u{1b}[2Jb\n"), "{text}");
    let text = printed(&folder, &["--ministat", "-A", name]);
    assert!(text.starts_with("x a\u{1b}[2Jb\n"), "{text}");
}
