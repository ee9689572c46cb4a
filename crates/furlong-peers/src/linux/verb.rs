//! `furlong peers linux`: builds the library from a package, or changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use furlong_lab::error::{Error, Exit, cause};
use furlong_lab::talk;
use furlong_verbs::cmd::peers::{Args, Peer};

use super::archive::Archive;
use super::compiler::compile;
use super::library;
use super::place::{self, LIBRARY};

/// The prefix of a work folder's name, followed by a process number.
const BEGUN: &str = "building-";

/// A folder that is removed when this is dropped.
struct Work(PathBuf);

impl Work {
    /// Makes a folder beside the library's final path, so that the library can be moved there in
    /// one step.
    fn new(dir: &Path) -> Result<Self, Error> {
        clean(dir);
        let path = dir.join(format!("{BEGUN}{}", process::id()));
        let made = fs::create_dir_all(dir).and_then(|()| fs::create_dir(&path));
        made.map_err(|error| {
            let (path, why) = (path.display(), cause(&error));
            Error::failed(format!("cannot make the directory {path}: {why}"))
        })?;
        Ok(Self(path))
    }
}

/// Removes the work folders of killed processes.
fn clean(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(BEGUN));
        let is_alive = |process: &str| Path::new("/proc").join(process).exists();
        if process.is_some_and(|process| !is_alive(process)) {
            // As in `drop`.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // A leftover does no harm, in a cache directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Builds the library, or leaves the existing one unchanged.
///
/// # Errors
/// If something is missing, or with the compiler's first error.
pub fn build(args: &Args) -> Result<ExitCode, Error> {
    let Peer::Linux(linux) = &args.peer;
    let archive = Archive::find(linux.from.as_deref())?;
    let homes = place::dir().zip(place::current());
    let (dir, home) = homes.ok_or_else(|| {
        Error::usage(
            "neither XDG_CACHE_HOME nor HOME is set, so there is no directory for the library",
        )
    })?;
    let work = Work::new(&dir)?;
    let tree = work.0.join("linux");
    let made = fs::create_dir(&tree);
    made.map_err(|error| Error::failed(format!("{}: {}", tree.display(), cause(&error))))?;
    talk::Voice::Normal.note("unpacking Linux's sources, about ten seconds");
    let unpacked = archive.unpack(&tree)?;
    let built = work.0.join(LIBRARY);
    compile(&tree, &work.0, &built)?;
    library::try_out(&built)?;
    let library = install(&built, &home)?;
    talk::data(&format!(
        "built: the maple tree, the red-black tree and the iova allocator of Linux {}\n\
         from:  {}\n\
         to:    {}\n\
         next:  furlong run --peers vmspace-index --arms maple,linux-maple --workloads churn-1k\n",
        unpacked.version,
        unpacked.from,
        library.display(),
    ))?;
    Ok(Exit::Done.into())
}

/// Moves the library to its final path, replacing an older one. Processes that have loaded the
/// older one keep it.
fn install(built: &Path, home: &Path) -> Result<PathBuf, Error> {
    let library = home.join(LIBRARY);
    let moved = fs::create_dir_all(home).and_then(|()| fs::rename(built, &library));
    moved.map_err(|error| {
        let (library, why) = (library.display(), cause(&error));
        Error::failed(format!("cannot write {library}: {why}"))
    })?;
    Ok(library)
}
