//! What this binary is.
#![forbid(unsafe_code)]

use std::fs;

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

/// A fingerprint of the executable that is running: figures of two binaries are not one run's.
#[must_use]
pub fn binary() -> String {
    let bytes = std::env::current_exe().and_then(fs::read);
    bytes.map_or_else(
        |_| "unknown".to_owned(),
        |bytes| format!("{:016x}", fingerprint(&bytes)),
    )
}
