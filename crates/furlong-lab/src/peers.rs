//! `--peers`: the same command with other people's implementations as further arms. Their crates
//! are heavy, so that they are in a binary of their own, `furlong-peers`, which lies beside this
//! one.
#![forbid(unsafe_code)]

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, cause};
use crate::record::build;

/// The binary that brings the peers.
const BINARY: &str = "furlong-peers";

/// The option that asks for them.
pub(crate) const OPTION: &str = "--peers";

/// Whether a command asks for them.
pub(crate) fn are_in(command: &[String]) -> bool {
    command.iter().any(|argument| argument == OPTION)
}

/// Whether this is the binary that brings them.
pub(crate) fn are_here() -> bool {
    env::current_exe().is_ok_and(|here| is_peers(&here))
}

fn is_peers(executable: &Path) -> bool {
    executable.file_name().is_some_and(|name| name == BINARY)
}

/// Goes on as the binary that brings the peers, with the same arguments; comes back only where this
/// is that binary.
///
/// # Errors
///
/// It is not there, is another build than this one, or cannot be run.
pub fn join() -> Result<(), Error> {
    let here = env::current_exe().map_err(|error| {
        Error::failed(format!("cannot find this executable: {}", cause(&error)))
    })?;
    if is_peers(&here) {
        return Ok(());
    }
    let peers = here.with_file_name(BINARY);
    check(&peers)?;
    let error = Command::new(&peers).args(env::args_os().skip(1)).exec();
    Err(not_run(&error))
}

/// The command that builds it as this one was built.
fn remedy() -> &'static str {
    if build::is_release() {
        "cargo build --release -p furlong-peers"
    } else {
        "cargo build -p furlong-peers"
    }
}

fn not_run(error: &io::Error) -> Error {
    let (why, remedy) = (cause(error), remedy());
    Error::usage(format!(
        "cannot run {BINARY} ({why}): build it again with `{remedy}`"
    ))
}

/// Figures of an old build would pass for those of this one.
fn check(peers: &Path) -> Result<(), Error> {
    let remedy = remedy();
    if !peers.is_file() {
        let place = peers.with_file_name("");
        return Err(Error::usage(format!(
            "there is no {BINARY} in {}: build it with `{remedy}`",
            place.display()
        )));
    }
    let said = Command::new(peers).arg("--version").output();
    let said = said.map_err(|error| not_run(&error))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let line = said.lines().next().unwrap_or_default();
    let version = line.trim().trim_start_matches("furlong").trim();
    if version == build::version() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{BINARY} is of another build ({version:?}, this is {:?}): build it again with `{remedy}`",
        build::version()
    )))
}
