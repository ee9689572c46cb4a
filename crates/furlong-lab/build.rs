//! Passes the command its commit, in a checkout. Compiles the launcher, which is embedded in the
//! command.
#![forbid(unsafe_code)]

mod embedded;
#[path = "launcher/build.rs"]
mod launcher;

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let _ = tell_commit();
    println!("cargo::rerun-if-changed=embedded.rs");
    launcher::build();
}

/// Passes the commit, if this is furlong's own checkout and not a copy inside another one.
fn tell_commit() -> Option<()> {
    let here = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = said_by("git", &["rev-parse", "--show-toplevel"])?;
    let ours = Path::new(&top)
        .join("crates")
        .join("furlong-lab")
        .canonicalize()
        .ok()?;
    if ours != Path::new(&here).canonicalize().ok()? {
        return None;
    }
    let commit = said_by("git", &["rev-parse", "--short=12", "HEAD"])?;
    println!("cargo::rustc-env=FURLONG_COMMIT={commit}");
    // A checkout changes HEAD, a commit changes its log.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = said_by("git", &["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(())
}

/// Returns the first line of a command's output, if it succeeds.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
