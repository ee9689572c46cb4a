//! The compiler, as run by tests: it compiles the library as users do, and programs over it.
//!
//! The library is compiled without its dependencies, so with the feature `alloc` at most.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The library, compiled in a folder of its own, and the arguments for programs over it.
pub(crate) struct Compiler {
    folder: PathBuf,
    built: PathBuf,
    arguments: Vec<&'static str>,
}

impl Compiler {
    /// Compiles the library with these arguments, which programs get too. `--emit=metadata`
    /// suffices for checks; linking needs `--emit=link`.
    pub(crate) fn new(of: &str, arguments: &[&'static str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(of);
        fs::create_dir_all(&folder).expect("the folder for tests can be written to");
        let is_linked = arguments.contains(&"--emit=link");
        let kind = if is_linked { "rlib" } else { "rmeta" };
        let made = Self {
            built: folder.join(format!("libfurlong.{kind}")),
            folder,
            arguments: arguments.to_vec(),
        };
        let mut rustc = made.rustc(&["--crate-type=lib", "--crate-name=furlong"]);
        rustc.args(["--cfg", "feature=\"alloc\""]);
        rustc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
        let built = rustc.output().expect("rustc runs where cargo does");
        assert!(built.status.success(), "{}", said(&built));
        made
    }

    fn rustc(&self, arguments: &[&str]) -> Command {
        // The compiler named by the toolchain file of this repository. Flags whose names may still
        // change are only used by tests.
        let mut rustc = Command::new("rustc");
        rustc.env("RUSTC_BOOTSTRAP", "1");
        rustc.current_dir(env!("CARGO_MANIFEST_DIR"));
        rustc.args([
            "--edition=2024",
            "--cap-lints=allow",
            "--error-format=short",
        ]);
        rustc.args(&self.arguments).args(arguments);
        rustc.arg("--out-dir").arg(&self.folder);
        rustc
    }

    /// Compiles a program over the library, as a crate of this kind and name.
    pub(crate) fn compile(&self, kind: &str, name: &str, text: &str) -> Output {
        let source = self.folder.join(format!("{name}.rs"));
        fs::write(&source, text).expect("the folder for tests can be written to");
        let mut rustc = self.rustc(&["--crate-type", kind, "--crate-name", name]);
        rustc
            .arg("--extern")
            .arg(format!("furlong={}", self.built.display()));
        rustc
            .arg(source)
            .output()
            .expect("rustc runs where cargo does")
    }
}

/// The compiler's messages.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
