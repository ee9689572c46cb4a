//! The copy of the repository that is changed and built; the checkout itself is never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository, and the folder of its copy.
#[derive(Debug)]
pub struct Scratch {
    pub root: PathBuf,
    /// The folder with the copy, the compiler wrapper, and the notes of tests.
    pub own: PathBuf,
    pub tree: PathBuf,
    pub target: PathBuf,
    wrapper: PathBuf,
}

/// Enables unstable features only in the mutated crates, so that their dependencies are built once.
/// Caps lints, because a mutant may make code unreachable or unused.
const WRAPPER: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec \"$@\" --cap-lints allow\n";

impl Scratch {
    /// Makes the copy in the target folder of the repository, so that it shares builds of other
    /// crates.
    pub fn of(root: &Path) -> io::Result<Scratch> {
        let root = root.canonicalize()?;
        let given = std::env::var_os("CARGO_TARGET_DIR").map(|target| root.join(target));
        let target = given.unwrap_or_else(|| root.join("target"));
        let own = target.join("mutants");
        fs::create_dir_all(&own)?;
        let wrapper = own.join("rustc");
        if fs::read_to_string(&wrapper).ok().as_deref() != Some(WRAPPER) {
            fs::write(&wrapper, WRAPPER)?;
            fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
        }
        Ok(Scratch {
            tree: own.join("tree"),
            own,
            root,
            target,
            wrapper,
        })
    }

    /// The files of the repository that git tracks or would track.
    pub fn files(&self) -> io::Result<Vec<String>> {
        let listing = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let listed = self.git(&listing)?;
        Ok(listed
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(String::from)
            .collect())
    }

    /// The output of git, or its error message.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        let out = Command::new("git")
            .args(arguments)
            .current_dir(&self.root)
            .output()?;
        if !out.status.success() {
            return Err(io::Error::other(
                String::from_utf8_lossy(&out.stderr).into_owned(),
            ));
        }
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    }

    /// Makes the copy equal to the repository, except for the given texts. Files that are already
    /// equal are not written, so that cargo rebuilds as little as possible.
    pub fn fill(&self, changed: &BTreeMap<String, String>) -> io::Result<()> {
        let files = self.files()?;
        let wanted: BTreeSet<PathBuf> = files.iter().map(|file| self.tree.join(file)).collect();
        remove_others(&self.tree, &wanted)?;
        for file in &files {
            let (from, to) = (self.root.join(file), self.tree.join(file));
            let Ok(kind) = from.symlink_metadata() else {
                continue;
            };
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            if kind.is_symlink() {
                if to.symlink_metadata().is_err() {
                    symlink(fs::read_link(&from)?, &to)?;
                }
                continue;
            }
            let bytes = match changed.get(file) {
                Some(text) => text.clone().into_bytes(),
                None => fs::read(&from)?,
            };
            if fs::read(&to).ok().as_ref() != Some(&bytes) {
                fs::write(&to, bytes)?;
            }
        }
        Ok(())
    }

    /// A cargo command in the copy.
    pub fn cargo(&self, loom: bool) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TERM_COLOR", "never")
            .env("RUSTC_WORKSPACE_WRAPPER", &self.wrapper);
        if loom {
            // As in ci/loom.sh, so that its builds of other crates are reused.
            cargo.env("CARGO_TARGET_DIR", self.target.join("loom"));
        }
        cargo
    }
}

fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if path.symlink_metadata()?.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
