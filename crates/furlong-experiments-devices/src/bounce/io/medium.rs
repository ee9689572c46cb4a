//! The stand-in for a device: an unnamed file in memory or on a disk. It vanishes with the process,
//! however that ends.
#![forbid(unsafe_code)]

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{MemfdFlags, fstatvfs, memfd_create, statfs};

use crate::bounce::buffer::{Buffer, PAGE};
use crate::bounce::shape::MediumKind;
use furlong_lab::error::cause;
use furlong_lab::model::Failure;
use furlong_lab::record::place::data_dir;

/// Directory of files in memory.
const RAM: &str = "/dev/shm";

/// Magic numbers of file systems without a disk in `statfs`: tmpfs and ramfs.
const WITHOUT_DISK: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A device.
#[derive(Debug)]
pub(super) struct Medium {
    pub(super) file: File,
    /// A note for the reader of the record.
    pub(super) note: Option<String>,
}

/// The reason if no such device can be made, otherwise `None`.
pub(in crate::bounce) fn why_not(kind: MediumKind) -> Option<String> {
    match kind {
        // Memory is always available.
        MediumKind::Ram => None,
        MediumKind::Disk => on_disk(PAGE as u64).err(),
    }
}

impl Medium {
    /// Makes a device of `len` bytes.
    ///
    /// # Errors
    /// No such device can be made.
    pub(super) fn create(kind: MediumKind, len: u64) -> Result<Self, Failure> {
        match kind {
            MediumKind::Ram => in_ram(len),
            MediumKind::Disk => on_disk(len).map(Self::plain).map_err(Failure),
        }
    }

    fn plain(file: File) -> Self {
        Self { file, note: None }
    }
}

fn in_ram(len: u64) -> Result<Medium, Failure> {
    let why = match direct(Path::new(RAM), len) {
        Ok(file) => return Ok(Medium::plain(file)),
        Err(why) => why,
    };
    let memory = memfd_create("furlong", MemfdFlags::CLOEXEC).map_err(Failure::of)?;
    let note = format!(
        "the ram device is a memfd of this process, without O_DIRECT ({RAM}: {})",
        cause(&why)
    );
    Ok(Medium {
        file: memory.into(),
        note: Some(note),
    })
}

/// Opens a file in the first candidate directory that is on a disk, or returns why there is none.
fn on_disk(len: u64) -> Result<File, String> {
    let mut tried = vec![];
    for dir in places() {
        let found = match is_on_disk(&dir) {
            Ok(true) => direct(&dir, len),
            Ok(false) => Err(io::Error::other("is in memory")),
            Err(error) => Err(error),
        };
        match found {
            Ok(file) => return Ok(file),
            Err(error) => tried.push(format!("{}: {}", dir.display(), cause(&error))),
        }
    }
    let tried = tried.join("; ");
    Err(format!(
        "no directory for a file on a disk with O_DIRECT ({tried})"
    ))
}

/// Candidate directories: the user's data, the build output, the current one, and that of temporary
/// files.
fn places() -> Vec<PathBuf> {
    let here = env::current_dir().ok();
    let target = here.as_deref().map(|dir| dir.join("target"));
    let all = [data_dir(), target, here, Some(env::temp_dir())];
    all.into_iter().flatten().collect()
}

fn is_on_disk(dir: &Path) -> io::Result<bool> {
    let found = statfs(dir)?;
    // The type's sign differs between architectures.
    let kind = found.f_type as u64 & 0xffff_ffff;
    Ok(!WITHOUT_DISK.contains(&kind))
}

/// Opens an unnamed file that bypasses the page cache.
fn direct(dir: &Path, len: u64) -> io::Result<File> {
    let file = nameless(dir, libc::O_DIRECT)?;
    let room = fstatvfs(&file)?;
    if room.f_bavail.saturating_mul(room.f_frsize) < 2 * len {
        return Err(io::Error::other("has too little space"));
    }
    // Some file systems accept the flag but refuse the block.
    file.write_all_at(Buffer::new(PAGE, 0).slice(), 0)?;
    Ok(file)
}

/// Opens a file without a name.
fn nameless(dir: &Path, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let opened = options.custom_flags(flags | libc::O_TMPFILE).open(dir);
    match opened {
        Err(error) if lacks_nameless_files(&error) => {}
        opened => return opened,
    }
    let path = dir.join(format!(".furlong-{}.tmp", process::id()));
    let file = options.custom_flags(flags).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// True for the errors of file systems without support for unnamed files.
fn lacks_nameless_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use super::{Medium, MediumKind, direct, is_on_disk, nameless, why_not};

    #[test]
    fn a_device_leaves_no_name_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = nameless(dir.path(), 0).unwrap();
        file.write_all_at(b"furlong", 3).unwrap();
        let mut read = [0; 7];
        file.read_exact_at(&mut read, 3).unwrap();
        assert_eq!(&read, b"furlong");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn ram_is_always_there_and_is_none_of_a_disk() {
        assert_eq!(why_not(MediumKind::Ram), None);
        let medium = Medium::create(MediumKind::Ram, 8192).unwrap();
        assert!(medium.file.metadata().unwrap().is_file());
        if let Ok(is_disk) = is_on_disk(Path::new(super::RAM)) {
            assert!(!is_disk, "{medium:?}");
        }
    }

    #[test]
    fn a_place_without_room_or_without_a_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let full = direct(dir.path(), u64::MAX / 4).unwrap_err();
        assert!(full.to_string().contains("too little space"), "{full}");
        assert!(direct(&dir.path().join("nowhere"), 1).is_err());
    }
}
