//! What a test needs that a machine need not have.
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write as _};

use furlong_peers::linux;

/// Whether the library with Linux's structures is there. Where it is not, what is left out is said;
/// with FURLONG_NEEDS_LINUX set, as `ci/linux.sh` has it, that is a failure.
pub(crate) fn has_linux(what: &str) -> bool {
    if linux::is_there() {
        return true;
    }
    let needed = env::var_os("FURLONG_NEEDS_LINUX").is_some();
    assert!(!needed, "{}", linux::MISSING);
    // Not a print that the harness keeps to itself: what is left out has to be seen.
    let _ = writeln!(io::stderr(), "LEFT OUT, {}: {what}", linux::MISSING);
    false
}
