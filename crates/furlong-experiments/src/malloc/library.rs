//! Allocators as preloadable libraries.

use std::path::{Path, PathBuf};

use super::shipped;

/// Library folders of distributions, with and without the architecture.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// Finds one of this project's libraries by name, and builds it before where possible.
///
/// # Errors
/// A hint at how to get it.
pub fn shipped_library(name: &str) -> Result<PathBuf, String> {
    shipped::built();
    shipped::find(name)
}

/// A library with an allocator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    /// One of this project's, by name.
    Shipped(&'static str),
    /// One of the distribution's: its file, and the package that contains it.
    Packaged(&'static str, &'static str),
    /// Any other, by path.
    File(&'static str),
}

impl Library {
    /// Returns its file.
    ///
    /// # Errors
    /// A hint at how to get it.
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

    /// The reason if it cannot be an arm here, otherwise `None`. Builds this project's libraries
    /// where possible.
    pub(crate) fn missing(&self) -> Option<String> {
        if let Self::Shipped(_) = self {
            shipped::built();
        }
        self.find().err()
    }
}
