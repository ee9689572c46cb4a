//! Builds programs that are embedded in the command, with the compiler of this build.
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a variable that cargo always sets.
pub(crate) fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// Returns the path of a program's image, and passes it to the command in a variable of this name.
pub(crate) fn image(program: &str, told_in: &str) -> PathBuf {
    let image = PathBuf::from(variable("OUT_DIR")).join(program);
    println!("cargo::rustc-env={told_in}={}", image.display());
    image
}

/// Compiles and links a program, or a library if its source ends with `lib.rs`. Panics with the
/// compiler's messages if that fails.
pub(crate) fn compile(name: &str, source: &str, arguments: &[&str], image: &Path) {
    let is_library = source.ends_with("lib.rs");
    let kind = if is_library { "cdylib" } else { "bin" };
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .args(["--edition", "2024", "--crate-type", kind])
        .args(["--crate-name", name])
        .args(["--target", &variable("TARGET")])
        .args(["-C", "panic=abort"])
        .args(arguments)
        .arg("-o")
        .arg(image)
        .arg(source);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    let output = compiler
        .output()
        .expect("the compiler of this build can be started");
    assert!(
        output.status.success(),
        "{source}, which the command carries within itself, cannot be built for {}; it needs a C \
         compiler as linker (apt-get install gcc), for another machine that machine's \
         (target.<triple>.linker in .cargo/config.toml). The compiler says:\n{}",
        variable("TARGET"),
        String::from_utf8_lossy(&output.stderr)
    );
}
