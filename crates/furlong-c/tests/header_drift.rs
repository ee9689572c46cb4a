//! The committed header equals the one generated from the sources: declarations and comments.
//!
//! ```text
//! FURLONG_BLESS=1 cargo test -p furlong-c --test header_drift
//! ```
//! rewrites it.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::{env, fs};

use cbindgen::{Builder, Config};

/// The source files of the header, in its order.
const SOURCES: &[&str] = &[
    "extent",
    "maple",
    "maple/displaced",
    "maple/cursor",
    "maple/gap",
    "iova",
    "iova/request",
    "iova/range",
    "phys",
    "phys/segment",
    "phys/boot",
    "phys/unplug",
    "phys/reader",
    "phys/page",
    "vmspace",
    "vmspace/layout",
    "vmspace/area",
    "vmspace/freed",
    "vmspace/map",
    "vmspace/change",
    "vmspace/brk",
    "vmspace/fork",
    "bounce",
    "bounce/plan",
    "bounce/device",
    "bounce/map",
    "port",
];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(here(path)).expect(path)
}

/// The first comment of the header, with the example that the checks compile.
fn top() -> String {
    let example = read("tests/c/example.c");
    let (_, program) = example
        .split_once("\n\n")
        .expect("a comment, and a program below it");
    let program: String = program
        .lines()
        .map(|line| format!("\n    {line}"))
        .collect();
    let text = read("header.txt").replace("@EXAMPLE@\n", &program);
    let lines = text.lines().map(|line| format!(" * {line}"));
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_string()).collect();
    format!("/*\n{}\n */", lines.join("\n"))
}

/// The version as macros: a number for comparisons, and its text.
fn version() -> String {
    let text = env!("CARGO_PKG_VERSION");
    let parts: Vec<u32> = text
        .split('.')
        .map(|part| part.parse().expect("three numbers"))
        .collect();
    let [major, minor, patch] = parts[..] else {
        panic!("{text} is not three numbers")
    };
    format!(
        "\n/**\n * The version of this header: major * 10000 + minor * 100 + patch.\n */\n\
         #define FURLONG_VERSION {}\n\n/**\n * The same as text.\n */\n\
         #define FURLONG_VERSION_TEXT \"{text}\"",
        major * 10_000 + minor * 100 + patch
    )
}

fn generated() -> String {
    let mut config = Config::from_file(here("cbindgen.toml")).expect("the configuration is right");
    config.header = Some(top());
    config.after_includes = Some(version());
    let builder = SOURCES
        .iter()
        .map(|name| here(&format!("src/{name}.rs")))
        .fold(Builder::new().with_config(config), Builder::with_src);
    let mut header = Vec::new();
    builder
        .generate()
        .expect("the sources are right")
        .write(&mut header);
    let header = String::from_utf8(header).expect("the header is text");
    header.replace(" * # Safety\n", " * The caller promises:\n")
}

#[test]
fn the_header_is_what_the_sources_make() {
    let header = generated();
    if env::var_os("FURLONG_BLESS").is_some() {
        fs::write(here("include/furlong.h"), &header).expect("it can be written");
    }
    let committed = read("include/furlong.h");
    let differs = committed
        .lines()
        .zip(header.lines())
        .position(|(one, other)| one != other);
    assert!(
        committed == header,
        "include/furlong.h is out of date (line {:?}): FURLONG_BLESS=1 cargo test -p furlong-c",
        differs.map(|at| at + 1)
    );
}

#[test]
fn every_exported_function_is_in_the_header_and_in_the_manual() {
    let (header, manual) = (generated(), read("man/furlong.3"));
    let mut functions = 0;
    for name in SOURCES {
        let text = read(&format!("src/{name}.rs"));
        for (_, rest) in text
            .match_indices("extern \"C\" fn furlong_")
            .map(|(at, _)| text[at..].split_at("extern \"C\" fn ".len()))
        {
            let function = rest.split('(').next().unwrap_or_default();
            assert!(header.contains(&format!("{function}(")), "{function}");
            assert!(
                manual.contains(&format!("{function} ")),
                "{function} is not in the manual"
            );
            functions += 1;
        }
    }
    assert!(functions > 70, "only {functions} functions were found");
}
