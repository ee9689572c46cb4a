//! Builds the launcher with the compiler of this build, without any library.
#![forbid(unsafe_code)]

use std::fs;

use crate::embedded::{compile, image, variable};

/// Its files; a change in one of them rebuilds it.
const SOURCES: [&str; 3] = ["launcher/build.rs", "launcher/main.rs", "launcher/sys.rs"];

/// No start-up code, no libraries, no dynamic linking.
const ARGUMENTS: &str = "\
    -C opt-level=s -C relocation-model=static -C link-arg=-nostartfiles -C link-arg=-nostdlib -C \
    link-arg=-static -C strip=symbols";

/// Builds the launcher and puts its path into `FURLONG_LAUNCHER`. The file is empty if the launcher
/// has no system calls for the target.
pub(crate) fn build() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let image = image("furlong-launcher", "FURLONG_LAUNCHER");
    let os = variable("CARGO_CFG_TARGET_OS");
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    if os == "linux" && ["x86_64", "aarch64"].contains(&arch.as_str()) {
        let arguments: Vec<&str> = ARGUMENTS.split(' ').collect();
        compile("furlong_launcher", "launcher/main.rs", &arguments, &image);
    } else {
        fs::write(&image, []).expect("the build directory can be written");
        println!("cargo::warning=no launcher for {arch} {os}: `furlong compare` will say so");
    }
}
