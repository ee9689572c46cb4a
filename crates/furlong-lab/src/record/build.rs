//! What this binary is.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs, io, process};

use crate::error::{Error, cause};
use crate::hash::fingerprint;

/// Version, with the commit where one is known.
#[must_use]
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("FURLONG_COMMIT") {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

/// Compiler.
#[must_use]
pub fn rustc() -> &'static str {
    env!("FURLONG_RUSTC")
}

/// Cargo's profile, the optimisation level and the target.
#[must_use]
pub fn profile() -> String {
    let parts = [
        env!("FURLONG_PROFILE"),
        env!("FURLONG_OPT_LEVEL"),
        env!("FURLONG_TARGET"),
    ];
    format!("{}, opt-level {}, {}", parts[0], parts[1], parts[2])
}

/// Whether the compiler optimised as for a release.
#[must_use]
pub fn is_release() -> bool {
    env!("FURLONG_PROFILE") == "release"
}

/// What other processes run to run this executable. By its name it would be what a build has put
/// there meanwhile, and a run would hold the figures of two binaries; the system keeps the file
/// that is running.
///
/// # Errors
///
/// The system does not say where it is.
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

/// A fingerprint of the executable that is running: figures of two binaries are not one run's.
#[must_use]
pub fn binary() -> String {
    let bytes = running().and_then(fs::read);
    bytes.map_or_else(
        |_| "unknown".to_owned(),
        |bytes| format!("{:016x}", fingerprint(&bytes)),
    )
}
