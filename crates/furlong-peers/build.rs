//! Builds a peer that is written in C as a library that can be preloaded, from the sources that its
//! crate brings.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for this build script"))
}

/// What mimalloc's own build gives the library that it ships.
const FLAGS: [&str; 10] = [
    "-shared",
    "-fPIC",
    "-O3",
    "-DNDEBUG",
    "-DMI_BUILD_RELEASE",
    "-DMI_SHARED_LIB",
    "-DMI_SHARED_LIB_EXPORT",
    "-DMI_MALLOC_OVERRIDE",
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",
];

/// Leaves the library's path in `FURLONG_MIMALLOC`; there is none where nothing can be preloaded.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let library = PathBuf::from(variable("OUT_DIR")).join("libmimalloc.so");
    println!("cargo::rustc-env=FURLONG_MIMALLOC={}", library.display());
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let include = variable("DEP_MIMALLOC_INCLUDE_DIR");
    let source = Path::new(&include).with_file_name("src");
    let mut compiler = cc::Build::new().get_compiler().to_command();
    compiler
        .args(FLAGS)
        .arg("-fno-builtin-malloc")
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(&source)
        .arg(source.join("static.c"))
        .args(["-lpthread", "-o"])
        .arg(&library);
    let output = compiler.output().expect("there is a C compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mimalloc cannot be built: {said}");
}
