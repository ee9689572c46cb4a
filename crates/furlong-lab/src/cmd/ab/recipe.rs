//! The way to build a revision, and the build.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::suite::is_message;
use crate::error::{Error, cause};
use crate::hash::fnv1a;

/// Lines of a failed build that are shown.
const LOG_LINES: usize = 20;

/// Characters of a line of it.
const LINE_CHARS: usize = 400;

/// Bytes at the end of the output of a failed build that are read.
const LOG_BYTES: u64 = 1 << 16;

/// Variables by which git tells a hook about the user's repository.
const OF_HOOK: [&str; 4] = ["GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE"];

/// Variables that decide what a build makes, besides those that begin as [`SETTINGS`] do.
const OF_BUILD: [&str; 10] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// Beginnings of others that do: cargo's own settings, and one for each target.
const SETTINGS: [&str; 7] = [
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CC_",
    "CFLAGS_",
    "CXXFLAGS_",
    "RUSTC",
];

/// Those of them that change nothing in what is made.
const OF_PLACE: [&str; 4] = [
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
];

/// The way to build a revision.
#[derive(Clone, Copy, Debug)]
pub(in crate::cmd) struct Recipe<'a> {
    /// For sh, in the checkout; none for the usual one.
    pub(in crate::cmd) command: Option<&'a str>,
    /// Code layouts of its programs, 0 for that of the build alone.
    pub(in crate::cmd) layouts: u32,
    /// The command that links one of them, for sh; none for cargo's linker.
    pub(in crate::cmd) relink: Option<&'a str>,
}

impl<'a> Recipe<'a> {
    /// A build as it comes, by this command or the usual one.
    pub(in crate::cmd) fn by(command: Option<&'a str>) -> Self {
        Self {
            command,
            layouts: 0,
            relink: None,
        }
    }

    /// A number that differs between recipes, and between compilers and their flags: a build by
    /// others is another one.
    pub(super) fn id(&self) -> u64 {
        let [command, relink] = [self.command, self.relink].map(Option::unwrap_or_default);
        let (layouts, by) = (self.layouts, compilers());
        fnv1a(format!("{command}\0{layouts}\0{relink}\0{by}").as_bytes())
    }
}

/// The compilers of this process' builds, and the variables that change what they make.
fn compilers() -> &'static str {
    static COMPILERS: OnceLock<String> = OnceLock::new();
    COMPILERS.get_or_init(|| {
        // A build that needs one that is missing says so itself. CC may have options.
        let ask = r#""${RUSTC:-rustc}" -vV; ${CC:-cc} --version"#;
        let said = Command::new("sh").args(["-c", ask]).output();
        let compilers = said.map_or_else(|_| vec![], |said| said.stdout);
        let compilers = String::from_utf8_lossy(&compilers);
        let own = |name: &str| {
            let sets = SETTINGS.iter().any(|start| name.starts_with(start));
            (OF_BUILD.contains(&name) || sets) && !OF_PLACE.contains(&name)
        };
        let variables = std::env::vars_os().map(|(name, value)| {
            let [name, value] = [name, value].map(|text| text.to_string_lossy().into_owned());
            (name, value)
        });
        let mut variables: Vec<_> = variables.filter(|(name, _)| own(name)).collect();
        variables.sort();
        format!("{compilers:?} {variables:?}")
    })
}

/// Returns a command that finds its repository by its folder. In a hook, git would check out a
/// revision into the user's index otherwise.
pub(super) fn outside(program: &str) -> Command {
    let mut command = Command::new(program);
    for name in OF_HOOK {
        command.env_remove(name);
    }
    command
}

/// Builds a checkout. What the build prints is appended to a file, whose end an error shows.
pub(super) fn make(
    folder: &Path,
    command: &str,
    variable: Option<(String, PathBuf)>,
    log: &Path,
    name: &str,
) -> Result<(), Error> {
    let cannot = |error: std::io::Error| {
        Error::failed(format!(
            "{} cannot be written: {}",
            log.display(),
            cause(&error)
        ))
    };
    let appending = File::options().create(true).append(true).open(log);
    let out = appending.map_err(cannot)?;
    let errors = out.try_clone().map_err(cannot)?;
    let status = outside("sh")
        .args(["-c", command])
        .current_dir(folder)
        // Both builds would write to one place.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .env_remove("CARGO_BUILD_BUILD_DIR")
        .envs(variable)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(errors)
        .status()
        .map_err(|error| Error::failed(format!("sh cannot be started: {}", cause(&error))))?;
    if status.success() {
        return Ok(());
    }
    let mut said = vec![];
    let _ = File::open(log).and_then(|mut log| {
        let all = log.metadata()?.len();
        log.seek(SeekFrom::Start(all.saturating_sub(LOG_BYTES)))?;
        log.read_to_end(&mut said)
    });
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().filter(|line| !is_message(line));
    let lines = lines.map(|line| line.chars().take(LINE_CHARS).collect());
    let lines: Vec<String> = lines.collect();
    let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    Err(Error::failed(format!(
        "{name} cannot be built ({command}, {status}); all of it is in {}:\n{end}",
        log.display()
    )))
}
