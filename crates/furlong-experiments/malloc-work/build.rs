//! Compiles the program that measures allocators. It is always optimised, whatever the profile of
//! the command itself.
#![forbid(unsafe_code)]

use std::fs;

use crate::embedded::{compile, image, variable};

/// Symbols are kept: the instruction counter is given a function name.
const ARGUMENTS: [&str; 6] = [
    "-C",
    "opt-level=3",
    "-C",
    "codegen-units=1",
    "-C",
    "strip=debuginfo",
];

/// Puts the program's path in `FURLONG_MALLOC_WORK`. It is an empty file where allocators cannot be
/// preloaded.
pub(crate) fn build() {
    println!("cargo::rerun-if-changed=malloc-work");
    let image = image("furlong-malloc-work", "FURLONG_MALLOC_WORK");
    if variable("CARGO_CFG_TARGET_OS") == "linux" {
        compile(
            "furlong_malloc_work",
            "malloc-work/main.rs",
            &ARGUMENTS,
            &image,
        );
    } else {
        fs::write(&image, []).expect("the build directory can be written");
    }
}
