//! How the launcher is compiled: by the compiler of this very build, linked with nothing.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Its files; a change in one of them compiles it anew.
const SOURCES: [&str; 3] = ["launcher/build.rs", "launcher/main.rs", "launcher/sys.rs"];

/// Leaves the launcher's path in `FURLONG_LAUNCHER`; an empty file where it knows no system calls.
pub(crate) fn build() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let image = PathBuf::from(variable("OUT_DIR")).join("furlong-launcher");
    println!("cargo::rustc-env=FURLONG_LAUNCHER={}", image.display());
    let os = variable("CARGO_CFG_TARGET_OS");
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    if os == "linux" && ["x86_64", "aarch64"].contains(&arch.as_str()) {
        compile(&image);
    } else {
        fs::write(&image, []).expect("the build directory can be written");
        println!("cargo::warning=no launcher for {arch} {os}: `furlong compare` will say so");
    }
}

/// A variable that cargo always sets.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// Compiles and links it, or ends the build with the compiler's words.
fn compile(image: &Path) {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "furlong_launcher",
            "--crate-type",
            "bin",
        ])
        .args(["--target", &variable("TARGET")])
        .args([
            "-C",
            "panic=abort",
            "-C",
            "opt-level=s",
            "-C",
            "relocation-model=static",
        ])
        .args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-nostdlib"])
        .args(["-C", "link-arg=-static", "-C", "strip=symbols"])
        .arg("-o")
        .arg(image)
        .arg("launcher/main.rs");
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    let output = compiler
        .output()
        .expect("the compiler of this build can be started");
    assert!(
        output.status.success(),
        "the launcher of `furlong compare` (launcher/main.rs) cannot be built for {}; it needs a \
         C compiler as linker (apt-get install gcc), for another machine that machine's \
         (target.<triple>.linker in .cargo/config.toml). The compiler says:\n{}",
        variable("TARGET"),
        String::from_utf8_lossy(&output.stderr)
    );
}
