//! Locations of this project's libraries: beside the command, or where a workspace builds them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use furlong_lab::talk;

/// Build instructions for users in the workspace.
const REMEDY: &str = "run `cargo build -p furlong-preload --profile preload --examples`";

/// Build instructions for users who installed only this command.
const REMEDY_INSTALLED: &str = "run `cargo build -p furlong-preload --profile preload --examples` \
     in furlong's repository, and put target/preload/examples/*.so beside this command";

/// Manifest of the workspace that this command was built in; does not exist for a package from a
/// registry.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");

/// File in every target directory of cargo.
const TARGET_MARK: &str = "CACHEDIR.TAG";

/// Finds the library with that name, or returns how to get it. In a workspace, samples find what
/// [`built`] has built before.
pub(super) fn find(name: &str) -> Result<PathBuf, String> {
    let file = format!("lib{name}.so");
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let beside = here.with_file_name(&file);
    if beside.is_file() {
        return Ok(beside);
    }
    let target = target(&here).ok_or_else(|| REMEDY_INSTALLED.to_owned())?;
    let built = target.join("preload/examples").join(file);
    built
        .is_file()
        .then_some(built)
        .ok_or_else(|| REMEDY.to_owned())
}

/// Builds the libraries, once per process, if this command runs in the workspace that it was built
/// in. Cargo decides whether there is anything to do, and prints its errors to stderr. After a
/// failed build the existing files are used, if any.
pub(super) fn built() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let here = env::current_exe().ok();
        if let Some(target) = here.as_deref().and_then(target)
            && Path::new(MANIFEST).is_file()
        {
            build(target);
        }
    });
}

fn target(executable: &Path) -> Option<&Path> {
    let mut above = executable.ancestors();
    above.find(|folder| folder.join(TARGET_MARK).is_file())
}

fn build(target: &Path) {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "-p", "furlong-preload", "--profile", "preload"])
        .args(["--examples", "--quiet", "--manifest-path", MANIFEST])
        .arg("--target-dir")
        .arg(target)
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(_) => talk::say("warning: the libraries of furlong-preload could not be built"),
        Err(_) => talk::say("note: there is no cargo here to build furlong-preload with"),
    }
}
