//! Recorder of a command's calls of malloc. A library is preloaded into all its processes
//! (`malloc-record/` beside `src/`). It writes every call into one file that they share.
//!
//! # Files
//! - `log`: that file; `tape`: from its events to the lines of a trace.

mod log;
mod tape;
#[cfg(test)]
mod tests;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use self::log::Log;
pub use self::tape::Recorded;
use super::Program;
use furlong_lab::error::{Error, cause};

/// Image of the library; empty if it was not built.
const IMAGE: &[u8] = include_bytes!(env!("FURLONG_MALLOC_RECORD"));

/// The environment variable with the log's path.
const VARIABLE: &str = "FURLONG_RECORD";

/// Default capacity of a log in calls; it takes 512 MiB during the recording.
pub const EVENTS: u64 = 1 << 24;

/// Runs a command to its end and reads its calls.
///
/// # Shapes
///
/// The log is placed beside `output`, if that is a file, and has room for `events` calls. `said`
/// receives the command's standard output.
///
/// # Errors
///
/// There is no room for the log, or the command cannot be run.
pub fn record(
    program: &Program,
    output: &Path,
    events: u64,
    said: Stdio,
) -> Result<(Recorded, ExitStatus), Error> {
    if IMAGE.is_empty() {
        return Err(Error::usage(
            "calls of malloc are recorded on Linux with glibc; this furlong was built for another \
             system",
        ));
    }
    let place = place_of_log(output);
    let lost = |error: io::Error| {
        let (place, why) = (place.display(), cause(&error));
        Error::usage(format!(
            "{place} has no room for {events} calls ({why}): record fewer with --events N, 32 \
             bytes each"
        ))
    };
    let home = tempfile::Builder::new()
        .prefix(".furlong-record-")
        .tempdir_in(&place);
    let home = home.map_err(lost)?;
    // An absolute path: the command may change its directory.
    let home = home.path().canonicalize().map(|path| (path, home));
    let (path, _home) = home.map_err(lost)?;
    let library = path.join("record.so");
    fs::write(&library, IMAGE).map_err(lost)?;
    let log = Log::new(&path.join("log"), events).map_err(lost)?;
    let status = Command::new(&program.words[0])
        .args(&program.words[1..])
        .env("LD_PRELOAD", &library)
        .env(VARIABLE, log.path())
        .stdout(said)
        .status()
        .map_err(|error| Error::usage(format!("{}: {}", program.name(), cause(&error))))?;
    let read = |error: io::Error| Error::failed(format!("the log: {}", cause(&error)));
    Ok((log.read().map_err(read)?, status))
}

/// The folder of the trace, or that of temporary files if the trace is a device or a pipe.
fn place_of_log(output: &Path) -> PathBuf {
    if fs::metadata(output).is_ok_and(|data| !data.is_file()) {
        return env::temp_dir();
    }
    match output.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
