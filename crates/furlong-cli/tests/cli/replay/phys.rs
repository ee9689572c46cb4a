//! Traces of `phys`: recordings of plugs, memory maps, and files that are neither.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::home::{Home, json, refused, with};
use crate::lab::{ended, says, words};

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/phys")
}

fn trace(name: &str) -> String {
    traces().join(name).display().to_string()
}

#[test]
fn a_recording_is_run_through_all_arms_and_every_answer_is_right() {
    let home = Home::new();
    let (page, talk) = home.ends(0, &[&trace("hotplug-chunks.plugs")]);
    assert_eq!(talk, "");
    assert!(page.contains("35 plugs and 127 unplugs, 4 of them to be refused; 674 lookups"));
    let row = |name: &str| page.lines().find(|line| line.starts_with(name)).unwrap();
    for name in ["array-branchless", "rbtree", "direct", "flat"] {
        assert!(row(name).ends_with("  0"), "{page}");
    }
    assert!(row("array ").ends_with(" n/a"), "{page}");
    let why = "array: n/a: at most 32 segments, and the trace asks for `unplug 0x2f8 0x2fe`";
    assert!(page.lines().any(|line| line == why), "{page}");
    assert!(page.contains("\n6040 answers compared with the specification, 0 wrong."));
    assert!(
        page.lines().all(|line| line.chars().count() <= 100),
        "{page}"
    );
}

#[test]
fn exact_numbers_are_the_same_every_time_and_programs_can_read_them() {
    let home = Home::new();
    let subjects = [&trace("virtio-mem.plugs"), "--subject", "direct,rbtree"];
    let (first, again) = (json(&home, &subjects), json(&home, &subjects));
    assert_eq!(first["schema"], "furlong.replay/1");
    assert_eq!(first["fault"], Value::Null);
    let names: Vec<&Value> = [0, 1].map(|at| &first["subjects"][at]["name"]).into();
    assert_eq!(names, ["direct", "rbtree"]);
    for at in [0, 1] {
        let (one, other) = (&first["subjects"][at], &again["subjects"][at]);
        assert_eq!(one["counts"], other["counts"]);
        assert_eq!((&one["answers"], &one["wrong"]), (&966.into(), &0.into()));
        let find = &one["kinds"][3];
        assert_eq!(
            (&find["name"], &find["operations"]),
            (&"find".into(), &396.into())
        );
        assert!(find["time_ns_per_op"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_trace_may_come_from_standard_input_and_the_outcome_go_to_standard_output() {
    let home = Home::new();
    let input = File::open(traces().join("hotplug-chunks.plugs")).unwrap();
    let mut replay = home.0.furlong(&words("replay - --subject direct --json -"));
    let (outcome, talk) = ended(0, &replay.stdin(input).output().unwrap());
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    assert_eq!(outcome["trace"], "standard input");
    assert!(talk.contains("\ndirect "), "the table is talk then");
}

#[test]
fn the_maps_of_real_machines_are_booted_and_looked_up() {
    let home = Home::new();
    for (name, form, segments) in [
        ("developer-vm.map", "furlong.map/1", 3),
        ("laptop.map", "furlong.map/1", 6),
        ("two-socket.map", "furlong.map/1", 6),
        ("arm64-server.map", "furlong.map/1", 5),
        ("virtio-mem.iomem", "/proc/iomem", 3),
    ] {
        let outcome = json(&home, &[&trace(name), "--subject", "direct"]);
        assert_eq!(outcome["form"], format!("memory map, {form}"));
        let subject = &outcome["subjects"][0];
        assert_eq!(
            (&subject["na"], &subject["wrong"]),
            (&Value::Null, &0.into())
        );
        let answers = segments + 2 * (100_000 + 4 * segments);
        assert_eq!(subject["answers"], answers, "{name}");
    }
}

#[test]
fn a_directory_is_no_trace() {
    let home = Home::new();
    says(&home.refuses(&["."]), &["is a directory; name a file"]);
}

#[test]
fn what_stands_before_a_bad_line_is_run_and_shown() {
    let home = with(b"furlong.plugs/1\nplug 0 64 0\nfind 3\nfind 0x1z\nfind 4\n");
    let (page, talk) = home.ends(2, &["t", "--json", "r.json"]);
    says(
        &page,
        &["1 plugs and 0 unplugs, 0 of them to be refused; 1 lookups"],
    );
    let said = "furlong: t: line 4: `0x1z` is not a number; the lines before it were replayed\n";
    assert_eq!(talk, said);
    let outcome = fs::read_to_string(home.path("r.json")).unwrap();
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    assert_eq!(outcome["fault"], "t: line 4: `0x1z` is not a number");
}

#[test]
fn a_trace_that_was_cut_off_is_said_to_be() {
    let whole = fs::read(traces().join("virtio-mem.plugs")).unwrap();
    // Each of the 40 cuts is replayed.
    let cut = whole.len() / 20;
    for cut in cut..cut + 40 {
        let home = with(&whole[..cut]);
        let (code, page, talk) = home.output(&["t", "--subject", "direct"]);
        let ends_with_a_line = whole[cut - 1] == b'\n';
        let warned = talk.contains("warning: t: its last line has no line end");
        assert_eq!(warned, !ends_with_a_line, "{talk}");
        assert!(matches!(code, 0 | 2), "{talk}");
        assert!(!talk.contains("panicked") && !page.is_empty(), "{talk}");
    }
}

#[test]
fn what_is_no_trace_is_refused_in_a_line() {
    assert_eq!(refused(b""), "t: is empty");
    assert_eq!(refused(b" \n\n"), "t: is empty");
    assert_eq!(
        refused(b"a\n\0\x01"),
        "t: line 2: holds a NUL byte; name a text file"
    );
    let unknown = refused(b"12\n13\n");
    assert!(unknown.starts_with("t: is not a known trace; known are: a recording of plugs"));
    says(&unknown, &["/proc/iomem", "furlong.map/1"]);
    let newer = refused(b"furlong.plugs/2\nplug 0 1 0\n");
    assert_eq!(
        newer,
        "t: line 1: `furlong.plugs/2`: expected furlong.plugs/1"
    );
    let large = refused(b"furlong.plugs/1\nfind 18446744073709551616\n");
    assert_eq!(
        large,
        "t: line 2: `18446744073709551616` does not fit in 64 bits"
    );
    let hollow = refused(b"furlong.plugs/1\nplug 8 8 0\n");
    assert_eq!(hollow, "t: line 2: the range at 0x8 is empty");
    let map = refused(b"furlong.map/1\n0x0 0x9000 usable 0\n0x1000 0x2000 usable 0\n");
    assert!(
        map.starts_with("t: line 3: the range begins before"),
        "{map}"
    );
    let nothing = refused(b"furlong.map/1\n0x0 0x9000 reserved 0\n");
    assert_eq!(nothing, "t: has no whole frame of usable memory to look up");
}

#[test]
fn iomem_read_without_root_has_a_line_of_its_own() {
    let zeros = b"00000000-00000000 : Reserved\n00000000-00000000 : System RAM\n";
    let said = refused(zeros);
    says(&said, &["every address is 0", "read it as root"]);
}

#[test]
fn frames_that_no_machine_has_are_refused_and_not_tried() {
    let home = with(
        b"furlong.plugs/1\nplug 0 0x10000000000 0\nplug 0 0x10000000001 0\nfind 0xffffffffff\n\
          find 0xffffffffffffffff\nunplug 0xfffffffffffffffe 0xffffffffffffffff\n",
    );
    let (page, talk) = home.ends(0, &["t"]);
    assert_eq!(talk, "");
    says(&page, &["2 plugs and 1 unplugs, 2 of them to be refused"]);
    assert_eq!(page.matches("n/a: it would need ").count(), 5, "{page}");
    let home = with(
        b"furlong.plugs/1\nplug 0xfffffffffe 0x10000000000 0\nplug 0xffffffffff 0x10000000001 0\n\
          find 0xffffffffff\nfind 0x10000000000\nfind 0xffffffffffffffff\n",
    );
    let subjects = [
        "--subject",
        "array,array-linear,array-big-first,rbtree,direct",
    ];
    let outcome = json(&home, &[&["t"], &subjects[..]].concat());
    for at in 0..5 {
        let subject = &outcome["subjects"][at];
        assert_eq!(
            (&subject["answers"], &subject["wrong"]),
            (&8.into(), &0.into())
        );
    }
}

#[test]
fn bad_usage_is_refused_before_anything_runs() {
    let home = with(b"furlong.plugs/1\nplug 0 64 0\n");
    let said = home.refuses(&["t", "--subject", "direkt"]);
    says(&said, &["unknown subject `direkt`: did you mean `direct`?"]);
    let said = home.refuses(&["gone"]);
    assert!(
        said.starts_with("gone: cannot be read: No such file"),
        "{said}"
    );
    let said = home.refuses(&["t", "--json", "no/such/folder"]);
    says(
        &said,
        &["--json no/such/folder: there is no folder no/such"],
    );
    let (_, said) = home.ends(2, &[]);
    says(&said, &["<TRACE>"]);
}
