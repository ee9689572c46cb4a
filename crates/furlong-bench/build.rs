//! Passes the benchmark its build data: compiler, profile and target.
#![forbid(unsafe_code)]

use std::env;
use std::process::Command;

fn main() {
    tell_build();
}

fn tell_build() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = said_by(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=FURLONG_RUSTC={version}");
    for (name, variable) in [
        ("PROFILE", "PROFILE"),
        ("OPT_LEVEL", "OPT_LEVEL"),
        ("TARGET", "TARGET"),
    ] {
        let value = env::var(variable).unwrap_or_else(|_| "unknown".to_owned());
        println!("cargo::rustc-env=FURLONG_{name}={value}");
    }
}

/// Returns the first line of a command's output, if it succeeds.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
