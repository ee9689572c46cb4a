//! The environment of a program whose allocator is measured.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variables that allocators read: the user's own settings are not part of an arm.
const SETTINGS: [&str; 8] = [
    "FURLONG_MALLOC_",
    "GLIBC_TUNABLES",
    "JEMALLOC_",
    "LD_PRELOAD",
    "MALLOC_",
    "MIMALLOC_",
    "PYTHONMALLOC",
    "TCMALLOC_",
];

/// The variables that select an allocator, and the workload's own settings.
pub(crate) fn variables(library: &Path, settings: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let settings = settings
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    let preload = ("LD_PRELOAD".into(), library.into());
    std::iter::once(preload).chain(settings).collect()
}

/// This process's environment, without settings of allocators, plus these variables.
pub(crate) fn environment(variables: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let is_setting = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        SETTINGS
            .iter()
            .any(|known| name.starts_with(known.as_bytes()))
    };
    let own = env::vars_os().filter(|(name, _)| !is_setting(name));
    own.chain(variables).collect()
}
