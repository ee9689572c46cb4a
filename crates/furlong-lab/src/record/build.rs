//! Properties of this binary.
#![forbid(unsafe_code)]

use std::fs::File;
use std::path::PathBuf;
use std::{env, io, process};

use crate::error::{Error, cause};
use crate::hash::fingerprint;

/// Returns the version, with the commit if it is known.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("FURLONG_COMMIT") {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

pub use furlong_bench::build::{is_release, profile, rustc};

/// Returns the path by which other processes run this executable. It is `/proc/PID/exe`, which is
/// always the running file. The file's own path may hold a newer build meanwhile, and a run would
/// then mix the figures of two binaries.
///
/// # Errors
///
/// The system does not report the path.
pub fn executable() -> Result<PathBuf, Error> {
    running()
        .map_err(|error| Error::failed(format!("cannot find this executable: {}", cause(&error))))
}

fn running() -> io::Result<PathBuf> {
    let kept = PathBuf::from(format!("/proc/{}/exe", process::id()));
    if kept.exists() {
        Ok(kept)
    } else {
        env::current_exe()
    }
}

/// Returns a fingerprint of the running executable. A run must not mix the figures of two binaries.
pub fn binary() -> String {
    let found = running().and_then(File::open).and_then(fingerprint);
    found.map_or_else(|_| "unknown".to_owned(), |found| format!("{found:016x}"))
}
