//! `furlong record malloc --heap-profile` names the planted leak of programs in three languages.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lab::{Home, says};

/// Compiles a program that leaks; `false` without the compiler.
fn compiled(home: &Home, compiler: &str, source: &str, options: &[&str]) -> bool {
    let sources = "../furlong-preload/tests/heap_profile";
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
    let mut command = Command::new(compiler);
    command.args(options).arg("-o").arg(home.path("leak"));
    let output = command.arg(sources.join(source)).output();
    output.is_ok_and(|output| {
        assert!(output.status.success(), "{output:?}");
        true
    })
}

/// The part of a function among the bytes in use, in percent.
fn part(picture: &str, function: &str) -> f64 {
    let in_use = picture.split("allocated").next().unwrap();
    let begins = format!("<title>{function}: ");
    let boxes = in_use
        .split("<g>")
        .filter_map(|item| item.strip_prefix(begins.as_str()));
    let parts = boxes.filter_map(|item| item.split(", ").nth(1)?.split(' ').next());
    parts.map(|part| part.parse::<f64>().unwrap()).sum()
}

#[test]
fn the_flame_graph_names_the_leak_and_pprofs_file_stays() {
    if furlong_experiments::shipped_library("furlong_malloc").is_err() {
        eprintln!("left out: the allocator to preload is not built");
        return;
    }
    for (compiler, source, options, name) in [
        ("cc", "leak.c", &["-O1", "-pthread"][..], "planted_leak"),
        ("c++", "leak.cpp", &["-O1"], "Cache::planted_leak(int)"),
        (
            "rustc",
            "leak.rs",
            &["-O", "--edition=2024"],
            "leak::planted_leak",
        ),
    ] {
        let home = Home::new();
        if !compiled(&home, compiler, source, options) {
            eprintln!("left out: there is no {compiler}");
            continue;
        }
        // The program in C sends itself this signal.
        let record = "record malloc --heap-profile --every 16384 -o leak.svg -- \
                      env FURLONG_MALLOC_HEAP_PROFILE_SIGNAL=12 ./leak asked.gz";
        let record: Vec<_> = record.split(' ').collect();
        let (_, told) = home.ends(0, &record);
        says(&told, &["in use at the end: see leak.svg", "go tool pprof"]);
        let picture = fs::read_to_string(home.path("leak.svg")).unwrap();
        let leaked = part(&picture, name);
        assert!(leaked > 90.0, "{name}: {leaked}: {picture}");
        let files = fs::read_dir(home.path(".")).unwrap().flatten();
        let profiles = files.filter(|file| file.file_name().to_string_lossy().ends_with(".pb.gz"));
        assert!(profiles.count() >= 1, "{source}");
    }
}

#[test]
fn a_program_that_allocates_little_is_said_to_have_no_samples() {
    if furlong_experiments::shipped_library("furlong_malloc").is_ok() {
        let home = Home::new();
        let record = [
            "record",
            "malloc",
            "--heap-profile",
            "--every",
            "999999999",
            "true",
        ];
        says(&home.ends(1, &record).1, &["has no samples"]);
    }
}
