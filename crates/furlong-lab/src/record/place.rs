//! Where the user's data stands.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

/// The directory `furlong` in the user's data directory, as the XDG base directories have it: a
/// relative `XDG_DATA_HOME` does not count. `None` where there is no home either.
#[must_use]
pub fn data_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("share")));
    base.map(|base| base.join("furlong"))
}
