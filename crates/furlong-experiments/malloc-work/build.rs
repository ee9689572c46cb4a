//! How the program that allocators are measured with is compiled: always optimised, whatever the
//! command itself is.
#![forbid(unsafe_code)]

use std::fs;

use crate::embedded::{compile, image, variable};

/// Names of functions stay, since a counter of instructions is told one of them.
const ARGUMENTS: [&str; 6] = [
    "-C",
    "opt-level=3",
    "-C",
    "codegen-units=1",
    "-C",
    "strip=debuginfo",
];

/// Leaves its path in `FURLONG_MALLOC_WORK`; an empty file where allocators cannot be preloaded.
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
