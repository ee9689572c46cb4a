//! `furlong malloc prescribe`: programs whose memory is known.

use std::fs;
use std::path::Path;
use std::process::Command;

use furlong_verbs::prescribe::SCHEMA;
use serde_json::Value;

use crate::lab::{FURLONG, Home, ended, says};

/// Memory that the loader, the C library and the kernel's counters may add or take, in KiB.
const BESIDE_KIB: u64 = 2048;

/// A home with the planted program; `None` without a compiler.
fn planted() -> Option<Home> {
    let home = Home::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/prescribe/planted.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-fno-builtin", source, "-o"]);
    let Ok(output) = compiler.arg(home.path("planted")).output() else {
        eprintln!("left out: there is no C compiler");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(home)
}

/// The result for a planted program.
fn prescribed(home: &Home, planted: &str) -> Value {
    let command = ["malloc", "prescribe", "--subject", "glibc", "--check"];
    let program = [
        "--events",
        "1000000",
        "--json",
        "r.json",
        "--",
        "./planted",
        planted,
    ];
    let (page, _) = home.ends(0, &[&command[..], &program].concat());
    says(&page, &["allocator and setting", "glibc", planted]);
    assert!(!page.contains("done"), "the program's own output: {page}");
    let result = serde_json::from_str(&fs::read_to_string(home.path("r.json")).unwrap()).unwrap();
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap();
    // An unknown field is an error.
    schema["additionalProperties"] = false.into();
    jsonschema::validate(&schema, &result).unwrap();
    result
}

#[test]
fn a_forecast_is_the_live_peak_of_programs_whose_memory_is_known() {
    let Some(home) = planted() else { return };
    for (planted, mib) in [
        ("sparse", 1),
        ("threads", 32),
        ("fork", 48),
        ("realloc", 24),
        ("leak", 20),
        ("mapped", 48),
    ] {
        let result = prescribed(&home, planted);
        let candidates = result["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), 4, "{planted}: glibc and three settings");
        for candidate in candidates {
            let kib = |name: &str| candidate[name].as_u64().unwrap();
            let (peak, live) = (kib("peak_kib"), kib("live_peak_kib"));
            let near = |kib: u64| kib.abs_diff(peak) <= kib / 10 + BESIDE_KIB;
            assert!(near(live) && near(mib << 10), "{planted}: {candidate:?}");
            assert_eq!(candidate["na"], Value::Null);
        }
    }
}

#[test]
fn the_series_ends_where_the_program_does_and_the_classes_are_those_of_the_peak() {
    let Some(home) = planted() else { return };
    let result = prescribed(&home, "leak");
    assert_eq!(result["schema"], "furlong.prescription/1");
    let glibc = result["candidates"].as_array().unwrap();
    let glibc = glibc.iter().find(|one| one["name"] == "glibc").unwrap();
    let series = glibc["series"].as_array().unwrap();
    let heap = |point: &Value| point["heap_kib"].as_u64().unwrap();
    assert!(series.len() > 2);
    assert!(
        series
            .windows(2)
            .all(|two| heap(&two[0]) <= heap(&two[1]) + 64)
    );
    assert!(heap(series.last().unwrap()) > 19 << 10);
    let classes = glibc["classes"].as_array().unwrap();
    let class = classes
        .iter()
        .find(|one| one["size_max_bytes"] == 1024)
        .unwrap();
    assert_eq!(class["blocks"], 20_480);
    assert_eq!(class["requested_bytes"], 20_480_000);
    assert_eq!(
        class["given_bytes"],
        20_480 * 1000,
        "glibc rounds 1000 to 1000"
    );
}

#[test]
fn what_cannot_be_prescribed_is_said_in_a_line() {
    let home = Home::new();
    let refused =
        |arguments: &[&str]| home.refuses(&[&["malloc", "prescribe"], arguments].concat());
    says(&refused(&[]), &["COMMAND"]);
    says(&refused(&["--", "no-such-program"]), &["no such program"]);
    says(
        &refused(&["--subject", "glibcc", "--", "ls"]),
        &["did you mean `glibc`"],
    );
    says(&refused(&["--json", "no/r", "--", "ls"]), &["--json"]);
    let many = ["--events", "1099511627776", "--", "ls"];
    says(&refused(&many), &["has no room", "--events N"]);
    let limited = "ulimit -v 4000000 && exec \"$0\" malloc prescribe -q --events 1000 -- ls";
    let mut shell = home.command("sh");
    shell.args(["-c", limited, FURLONG]);
    says(
        &ended(1, &shell.output().unwrap()).1,
        &["ls: nothing was recorded", "ulimit -v"],
    );
    let source = home.path("still.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-static", "-o"])
        .args([home.path("still"), source]);
    if compiler
        .output()
        .is_ok_and(|output| output.status.success())
    {
        let few = [
            "malloc",
            "prescribe",
            "-q",
            "--events",
            "1000",
            "--",
            "./still",
        ];
        says(
            &home.ends(1, &few).1,
            &["still: nothing was recorded", "statically linked"],
        );
    }
}

#[test]
fn a_program_with_an_allocator_of_its_own_is_compared_with_that() {
    let Some(home) = planted() else { return };
    let library = Path::new("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2");
    if !library.is_file() {
        eprintln!("left out: there is no {}", library.display());
        return;
    }
    let mut linker = Command::new("cc");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/prescribe/planted.c");
    linker.args(["-pthread", "-fno-builtin", source, "-Wl,--no-as-needed"]);
    let output = linker
        .arg(library)
        .arg("-o")
        .arg(home.path("linked"))
        .output();
    assert!(output.unwrap().status.success());
    let command = [
        "malloc",
        "prescribe",
        "-q",
        "--subject",
        "jemalloc",
        "--events",
        "100000",
    ];
    let program = ["--json", "r.json", "--", "./linked", "leak"];
    home.ends(0, &[&command[..], &program].concat());
    let text = fs::read_to_string(home.path("r.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["present"], "jemalloc");
}
