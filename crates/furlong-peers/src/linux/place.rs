//! The path of the library that `furlong peers linux` builds.

use std::path::PathBuf;

use furlong_lab::hash::fnv1a;
use furlong_lab::record::place::cache_dir;

use super::archive::COMPILED;
use super::compiler::{FLAGS, HEADERS};

/// Our own files, compiled beside Linux's, by name.
pub(super) const OURS: [(&str, &str); 5] = [
    ("kernel.h", include_str!("../../linux/kernel.h")),
    ("kernel.c", include_str!("../../linux/kernel.c")),
    ("maple.c", include_str!("../../linux/maple.c")),
    ("rbtree.c", include_str!("../../linux/rbtree.c")),
    ("iova.c", include_str!("../../linux/iova.c")),
];

/// The library's name in its directory.
pub(super) const LIBRARY: &str = "libfurlong_linux.so";

/// The directory of all built libraries; `None` if neither XDG_CACHE_HOME nor HOME is set.
pub(super) fn dir() -> Option<PathBuf> {
    cache_dir().map(|dir| dir.join("linux"))
}

/// The directory for this binary. Libraries built from other files, or with other flags, have other
/// directories.
pub(super) fn current() -> Option<PathBuf> {
    let ours = OURS.iter().map(|(_, text)| *text);
    let how = [HEADERS, FLAGS]
        .into_iter()
        .flat_map(|words| words.split(' '));
    let how = COMPILED.into_iter().chain(how);
    let all: Vec<&str> = ours.chain(how).collect();
    let name = format!("{:016x}", fnv1a(all.concat().as_bytes()));
    dir().map(|dir| dir.join(name))
}

/// The path of the library for this binary, which may not exist.
#[must_use]
pub fn library() -> Option<PathBuf> {
    current().map(|dir| dir.join(LIBRARY))
}
