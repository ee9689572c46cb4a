//! Heap profile of a command: it runs with the preloaded allocator, whose samples become a flame
//! graph. The profiles themselves, in pprof's format, are kept.
//!
//! # Files
//! - `profile`: the decoder; `symbols`: names of functions; `flame`: the picture.

mod flame;
mod profile;
mod symbols;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::SystemTime;

use self::flame::{Node, amount, draw};
use self::symbols::Symbols;
use super::Program;
use furlong_lab::error::{Error, cause};

/// The profiles of a command's processes.
#[derive(Debug)]
pub struct Profiled {
    /// The command's own.
    pub status: ExitStatus,
    /// The picture, as SVG.
    pub picture: String,
    /// Files in pprof's format.
    pub files: Vec<PathBuf>,
    /// Bytes that were allocated, and those that were in use when the processes ended.
    pub bytes: [u64; 2],
    /// Profiles that cannot be read, a sentence each.
    pub missed: Vec<String>,
}

/// Runs a command to its end with a sample each `every` bytes.
///
/// # Shapes
///
/// Profiles are placed beside `output`, under its name without `.svg` and with `.PROCESS.pb.gz`.
///
/// # Errors
///
/// There is no allocator to preload, the command cannot be run, or a file cannot be read or
/// removed. Profiles of a former run stay unless there are new ones.
pub fn record(program: &Program, output: &Path, every: u64) -> Result<Profiled, Error> {
    let library = furlong_experiments::shipped_library("furlong_malloc");
    let library = library.map_err(|remedy| {
        Error::usage(format!(
            "a heap profile needs the preloaded allocator: {remedy}"
        ))
    })?;
    let failed = |what: &Path, error| {
        let (what, why) = (what.display(), cause(&error));
        Error::usage(format!("{what}: {why}"))
    };
    let folder = match output.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // An absolute path: the command may change its directory.
    let folder = folder
        .canonicalize()
        .map_err(|error| failed(folder, error))?;
    let stem = output
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let before: Vec<_> = profiles(&folder, &stem)
        .into_iter()
        .map(with_time)
        .collect();
    let status = Command::new(&program.words[0])
        .args(&program.words[1..])
        .env("LD_PRELOAD", &library)
        .env("FURLONG_MALLOC_HEAP_PROFILE", folder.join(&stem))
        .env("FURLONG_MALLOC_HEAP_PROFILE_BYTES", every.to_string())
        .status()
        .map_err(|error| Error::usage(format!("{}: {}", program.name(), cause(&error))))?;
    let after = profiles(&folder, &stem).into_iter().map(with_time);
    let (old, new): (Vec<_>, Vec<_>) = after.partition(|file| before.contains(file));
    let (mut files, mut missed) = (vec![], vec![]);
    let (mut symbols, mut trees) = (Symbols::default(), [Node::default(), Node::default()]);
    for (file, _) in new {
        let bytes = fs::read(&file).map_err(|error| failed(&file, error))?;
        match add(&bytes, &mut symbols, &mut trees) {
            Some(()) => files.push(file),
            None => missed.push(format!(
                "{}: the profile is damaged: its process was killed, has no room, or has not ended",
                file.display()
            )),
        }
    }
    if !files.is_empty() {
        for (file, _) in old {
            fs::remove_file(&file).map_err(|error| failed(&file, error))?;
        }
    }
    let [allocated, live] = trees;
    let bytes = [allocated.bytes, live.bytes];
    let of = program.line();
    let titles = [
        format!("{} in use at the end: {of}", amount(live.bytes)),
        format!("{} allocated: {of}", amount(allocated.bytes)),
    ];
    let [first, second] = titles;
    Ok(Profiled {
        status,
        picture: draw(&[(first, live), (second, allocated)]),
        files,
        bytes,
        missed,
    })
}

/// Adds a profile to the trees of what was allocated and of what is in use. `None`, with nothing
/// changed, if it is damaged.
fn add(profile: &[u8], symbols: &mut Symbols, trees: &mut [Node; 2]) -> Option<()> {
    for stack in profile::decode(profile, symbols)? {
        let functions = || stack.functions.iter().map(String::as_str);
        for (tree, bytes) in trees.iter_mut().zip(stack.bytes) {
            tree.add(functions(), bytes);
        }
    }
    Some(())
}

/// A file with the time of its last change.
fn with_time(file: PathBuf) -> (PathBuf, Option<SystemTime>) {
    let time = fs::metadata(&file).and_then(|data| data.modified()).ok();
    (file, time)
}

/// A number of bytes for people.
#[must_use]
pub fn shown(bytes: u64) -> String {
    amount(bytes)
}

/// The profiles of this name in a folder: of one process each, by its number.
fn profiles(folder: &Path, stem: &str) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('.'));
        let number = number.and_then(|rest| rest.strip_suffix(".pb.gz"));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).filter(is_one).collect();
    files.sort();
    files
}
