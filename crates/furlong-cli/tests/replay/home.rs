//! A folder for the command, and helpers for its output.
#![forbid(unsafe_code)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder for the command.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The exit code, stdout and stderr.
    pub(crate) fn output(&self, arguments: &[&str], input: &[u8]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_furlong"));
        command.arg("replay").args(arguments).current_dir(&self.0);
        command.env("COLUMNS", "100").stdin(Stdio::piped());
        let pipes = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // The command may close its input early, if it reads a file.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    }

    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let (found, page, talk) = self.output(arguments, b"");
        assert_eq!(found, code, "{arguments:?}\n{page}\n{talk}");
        (page, talk)
    }

    /// Checks that it is refused as bad input: nothing on stdout, one line on stderr.
    pub(crate) fn refuses(&self, arguments: &[&str]) -> String {
        let (page, talk) = self.ends(2, arguments);
        assert!(page.is_empty() && talk.lines().count() == 1, "{page}{talk}");
        let line = talk.trim_end().strip_prefix("furlong: ");
        line.unwrap_or_else(|| panic!("{talk}")).to_owned()
    }
}

/// A home with a file `t` of this content.
pub(crate) fn with(content: &[u8]) -> Home {
    let home = Home::new();
    fs::write(home.path("t"), content).unwrap();
    home
}

/// Checks that it is refused before anything ran: one line, without the program's name.
pub(crate) fn refused(content: &[u8]) -> String {
    with(content).refuses(&["-q", "t"])
}

pub(crate) fn json(home: &Home, arguments: &[&str]) -> Value {
    let all = [arguments, &["--json", "r.json"]].concat();
    home.ends(0, &all);
    serde_json::from_str(&fs::read_to_string(home.path("r.json")).unwrap()).unwrap()
}
