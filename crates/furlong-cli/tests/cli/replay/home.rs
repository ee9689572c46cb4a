//! A home for `furlong replay`, and helpers for its output.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::lab;

/// A home whose commands are `furlong replay`.
pub(crate) struct Home(pub(crate) lab::Home);

impl Home {
    pub(crate) fn new() -> Self {
        Self(lab::Home::new())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// The exit code, stdout and stderr.
    pub(crate) fn output(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.0.output(&[&["replay"], arguments].concat());
        let code = output.status.code().unwrap();
        (code, lab::text(&output.stdout), lab::text(&output.stderr))
    }

    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        self.0.ends(code, &[&["replay"], arguments].concat())
    }

    /// Checks that it is refused as bad input, and returns the line without the program's name.
    pub(crate) fn refuses(&self, arguments: &[&str]) -> String {
        let line = self.0.refuses(&[&["replay"], arguments].concat());
        line["furlong: ".len()..].to_owned()
    }
}

/// A home with a file `t` of this content.
pub(crate) fn with(content: &[u8]) -> Home {
    let home = Home::new();
    home.0.write("t", content);
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
