//! Directories of the user's data and of the cache, and the files in them. Results hold command
//! lines, so everything that the command creates unasked is for its user alone.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Permissions of a directory.
const DIR_MODE: u32 = 0o700;

/// Permissions of a file.
const FILE_MODE: u32 = 0o600;

/// Bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// Returns the directory `furlong` in the user's data directory by the XDG base directory rules: a
/// relative `XDG_DATA_HOME` is ignored. `None` if there is no home directory either.
pub fn data_dir() -> Option<PathBuf> {
    dir("XDG_DATA_HOME", ".local/share")
}

/// Returns the same in the user's cache directory, for data that can be made again.
pub fn cache_dir() -> Option<PathBuf> {
    dir("XDG_CACHE_HOME", ".cache")
}

fn dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let base = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)));
    base.map(|base| base.join("furlong"))
}

/// Creates a directory and those above it for the user alone. An existing one of the user is
/// narrowed.
///
/// # Errors
///
/// The system's error.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(DIR_MODE)
        .create(path);
    made.inspect(|()| narrow(path, DIR_MODE))
}

/// Narrows a file to the user alone, if others may read or write it.
pub fn narrow_file(path: &Path) {
    narrow(path, FILE_MODE);
}

/// Narrows permissions. If they belong to another user, nothing changes.
fn narrow(path: &Path, mode: u32) {
    if open_to_others(path).is_some() {
        let _ = fs::set_permissions(path, Permissions::from_mode(mode));
    }
}

/// Returns the permissions of something that others may use.
pub fn open_to_others(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    (mode & OTHERS != 0).then_some(mode & 0o777)
}

/// Writes a file for the user alone, as a whole or not at all, even if the machine stops in the
/// middle.
///
/// # Errors
///
/// The system's error; the file is unchanged.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    // Such a file has the mode 0600.
    let mut file = NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    fs::File::open(dir)?.sync_all()
}
