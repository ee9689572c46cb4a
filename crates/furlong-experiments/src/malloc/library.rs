//! Allocators as libraries that can be preloaded.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use super::shipped;

/// Where distributions keep libraries, by architecture or not.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// A library with an allocator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    /// One of this project's, by its name.
    Shipped(&'static str),
    /// One of the distribution's: its file, and the package that has it.
    Packaged(&'static str, &'static str),
    /// Another one, by its path.
    File(&'static str),
}

impl Library {
    /// Its file.
    ///
    /// # Errors
    /// How to come by it.
    pub(crate) fn find(&self) -> Result<PathBuf, String> {
        match self {
            Self::Shipped(name) => shipped::find(name),
            Self::File(path) => {
                let path = PathBuf::from(path);
                let gone = || format!("{} is no longer there", path.display());
                path.is_file().then_some(path.clone()).ok_or_else(gone)
            }
            Self::Packaged(file, package) => {
                let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(file));
                let found = places.find(|place| place.is_file());
                found.ok_or_else(|| format!("run `apt-get install {package}`"))
            }
        }
    }

    /// Why it cannot be an arm here, if it cannot; ours is built for it where that is possible.
    pub(crate) fn missing(&self) -> Option<String> {
        if let Self::Shipped(_) = self {
            shipped::built();
        }
        self.find().err()
    }
}
