//! `--peers`: the same command with other people's implementations as further arms. Their crates
//! are heavy, so they are in a separate binary, `furlong-peers`, which is in the same directory as
//! this one.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, cause};
use crate::record::build;

/// Binary that has the peers.
const BINARY: &str = "furlong-peers";

/// Option that requests them.
pub(crate) const OPTION: &str = "--peers";

/// True if a command requests them.
pub(crate) fn are_in(command: &[String]) -> bool {
    command.iter().any(|argument| argument == OPTION)
}

/// True if this is the binary that has them.
pub(crate) fn are_here() -> bool {
    env::current_exe().is_ok_and(|here| is_peers(&here))
}

fn is_peers(executable: &Path) -> bool {
    executable.file_name().is_some_and(|name| name == BINARY)
}

/// Executes the binary that has the peers, with the same arguments. Returns only if this is that
/// binary.
///
/// # Errors
///
/// The binary is missing, is of another build than this one, or cannot be run.
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

/// Returns the command that builds it in the same way as this one.
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

/// Checks that the binary is of this build: figures of an old one would be mistaken for new ones.
fn check(peers: &Path) -> Result<(), Error> {
    let remedy = remedy();
    if !peers.is_file() {
        let place = peers.with_file_name("");
        return Err(Error::usage(format!(
            "there is no {BINARY} in {}: build it with `{remedy}`, and use the furlong beside it",
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
