//! Where the user's data stands, and what can be made again.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

/// The directory `furlong` in the user's data directory, as the XDG base directories have it: a
/// relative `XDG_DATA_HOME` does not count. `None` where there is no home either.
#[must_use]
pub fn data_dir() -> Option<PathBuf> {
    dir("XDG_DATA_HOME", ".local/share")
}

/// The same in the user's cache directory, for what can be made again.
#[must_use]
pub fn cache_dir() -> Option<PathBuf> {
    dir("XDG_CACHE_HOME", ".cache")
}

fn dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("furlong"))
}
