//! Conditions of a test that not every machine meets.
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write as _};

use furlong_peers::linux;

/// True if the library with Linux's structures exists. Otherwise prints what is left out, or fails
/// if FURLONG_NEEDS_LINUX is set, as by `ci/linux.sh`.
pub(crate) fn has_linux(what: &str) -> bool {
    if linux::is_there() {
        return true;
    }
    let needed = env::var_os("FURLONG_NEEDS_LINUX").is_some();
    assert!(!needed, "{}", linux::MISSING);
    // Written directly, because the harness would hide a `print`.
    let _ = writeln!(io::stderr(), "LEFT OUT, {}: {what}", linux::MISSING);
    false
}
