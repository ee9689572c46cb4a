//! `--peers`: the same command with other people's implementations as further arms. Their crates
//! are heavy, so that they are in a binary of their own, `furlong-peers`, which lies beside this
//! one.
#![forbid(unsafe_code)]

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::record::build;

/// The binary that brings the peers.
const BINARY: &str = "furlong-peers";

/// Goes on as the binary that brings the peers, with the same arguments; comes back only where this
/// is that binary.
///
/// # Errors
///
/// It is not there, is another build than this one, or cannot be run.
pub fn join() -> Result<(), Error> {
    let here = env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find this executable: {error}")))?;
    if here.file_name().is_some_and(|name| name == BINARY) {
        return Ok(());
    }
    let peers = here.with_file_name(BINARY);
    check(&peers)?;
    let error = Command::new(&peers).args(env::args_os().skip(1)).exec();
    Err(Error::failed(format!("cannot run {BINARY}: {error}")))
}

/// Figures of an old build would pass for those of this one.
fn check(peers: &Path) -> Result<(), Error> {
    let remedy = if build::is_release() {
        "cargo build --release -p furlong-peers"
    } else {
        "cargo build -p furlong-peers"
    };
    if !peers.is_file() {
        let place = peers.with_file_name("");
        return Err(Error::usage(format!(
            "there is no {BINARY} in {}: build it with `{remedy}`",
            place.display()
        )));
    }
    let said = Command::new(peers).arg("--version").output();
    let said = said.map_err(|error| Error::failed(format!("cannot run {BINARY}: {error}")))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let version = said.trim().trim_start_matches("furlong").trim();
    if version == build::version() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{BINARY} is of another build ({version:?}, this is {:?}): build it again with `{remedy}`",
        build::version()
    )))
}
