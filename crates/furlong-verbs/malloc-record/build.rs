//! Compiles the library that records calls of malloc.
#![forbid(unsafe_code)]

use std::fs;

use crate::embedded::{compile, image, variable};

/// Symbols are bound before the program begins, and the library is never closed.
const ARGUMENTS: [&str; 8] = [
    "-C",
    "opt-level=3",
    "-C",
    "strip=symbols",
    "-C",
    "link-arg=-Wl,-z,now",
    "-C",
    "link-arg=-Wl,-z,nodelete",
];

/// Puts the library's path in `FURLONG_MALLOC_RECORD`. It is an empty file where the C library is
/// not glibc.
pub(crate) fn build() {
    println!("cargo::rerun-if-changed=malloc-record");
    let image = image("furlong-malloc-record.so", "FURLONG_MALLOC_RECORD");
    let os = variable("CARGO_CFG_TARGET_OS");
    if os == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        let source = "malloc-record/lib.rs";
        compile("furlong_malloc_record", source, &ARGUMENTS, &image);
    } else {
        fs::write(&image, []).expect("the build directory can be written");
    }
}
