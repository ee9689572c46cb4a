//! Directories of the user's data and of the cache.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

/// Returns the directory `furlong` in the user's data directory by the XDG base directory rules: a
/// relative `XDG_DATA_HOME` is ignored. `None` if there is no home directory either.
#[must_use]
pub fn data_dir() -> Option<PathBuf> {
    dir("XDG_DATA_HOME", ".local/share")
}

/// Returns the same in the user's cache directory, for data that can be made again.
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
