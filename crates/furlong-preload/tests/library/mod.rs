//! The libraries, which are built beside the tests.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

/// The path of a library, by its name.
pub(crate) fn library(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(2);
    let target = target.expect("a test lies two folders below the target's");
    let path = target.join(format!("examples/lib{name}.so"));
    assert!(path.exists(), "{path:?}: cargo build --examples");
    path
}
