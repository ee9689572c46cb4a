//! A folder for C programs that tests compile.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

/// A folder that is removed when this is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(of: &str) -> Self {
        let path = env::temp_dir().join(format!("furlong-{of}-{}", process::id()));
        fs::create_dir_all(&path).expect("there is room for a folder");
        Self(path)
    }

    /// Compiles a program, given by its path among the tests, without `.c` or with `.cpp`.
    pub(crate) fn compiled(&self, source: &str, arguments: &[&str]) -> PathBuf {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let is_cxx = source.ends_with(".cpp");
        let (compiler, end) = if is_cxx { ("c++", "") } else { ("cc", ".c") };
        let name = source.rsplit('/').next().unwrap_or(source);
        let made = self.0.join(name).with_extension("");
        let done = Command::new(compiler)
            .args(["-O1", "-Wall", "-Werror", "-pthread", "-fno-builtin", "-o"])
            .arg(&made)
            .arg(sources.join(format!("{source}{end}")))
            .args(arguments)
            .output()
            .expect("compilers of C and C++ are among the tools of these tests");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{source}: {said}");
        made
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover stays in the system's folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
