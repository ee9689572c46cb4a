//! Links the kernel by its own script, with nothing of the host's.
#![forbid(unsafe_code)]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=link.ld");
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let target = env::var("TARGET").expect("cargo says what it builds for");
    let script = format!("-T{here}/link.ld");
    // There the linker is called by itself, and links nothing that it was not told to.
    if target.ends_with("-none") {
        println!("cargo::rustc-link-arg-bins={script}");
        return;
    }
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        "-Wl,--build-id=none",
        "-Wl,-z,norelro",
        "-Wl,-z,max-page-size=4096",
        &script,
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
