//! A command to record, checked to be runnable before recording starts.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use furlong_lab::error::Error;
use furlong_lab::report::text::plain;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The words as given, the program first.
    pub words: Vec<OsString>,
}

impl Program {
    /// Makes a command from its words.
    ///
    /// # Errors
    /// There is no word, or the first one is not a program that can be run.
    pub fn new(words: &[OsString]) -> Result<Self, Error> {
        let Some(first) = words.first() else {
            return Err(Error::usage("there is no command to record"));
        };
        if found(Path::new(first)).is_none() {
            let name = plain(&first.to_string_lossy());
            return Err(Error::usage(format!(
                "{name}: no such program; check its name, or give its path"
            )));
        }
        let words = words.to_vec();
        Ok(Self { words })
    }

    /// The program's file; `None` if it is gone.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        found(Path::new(&self.words[0]))
    }

    /// The program's name, without its folder.
    #[must_use]
    pub fn name(&self) -> String {
        let name = Path::new(&self.words[0]).file_name();
        plain(&name.unwrap_or_default().to_string_lossy())
    }

    /// The command on one line.
    #[must_use]
    pub fn line(&self) -> String {
        let words = self.words.iter().map(|word| plain(&word.to_string_lossy()));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Finds a program; names without a folder are searched in PATH, as a shell does.
pub(super) fn found(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return is_executable(program).then(|| program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&folders).map(|folder| folder.join(program));
    places.into_iter().find(|place| is_executable(place))
}

fn is_executable(path: &Path) -> bool {
    let mode = fs::metadata(path).map(|data| (data.is_file(), data.permissions().mode()));
    mode.is_ok_and(|(is_file, mode)| is_file && mode & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Program, found};

    #[test]
    fn a_command_that_cannot_be_run_is_refused_before_it_is_recorded() {
        let refused = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(Into::into).collect();
            Program::new(&words).unwrap_err().message
        };
        assert_eq!(refused(&[]), "there is no command to record");
        assert!(refused(&["no-such-program"]).starts_with("no-such-program: no such program"));
        assert!(
            refused(&["./Cargo.toml"]).contains("no such program"),
            "not executable"
        );
        assert!(refused(&["/"]).contains("no such program"), "a folder");
        assert!(found(Path::new("sh")).is_some());
    }

    #[test]
    fn a_command_has_a_name_and_a_line() {
        let program = Program::new(&["/bin/sh".into(), "-c".into(), "a\nb".into()]).unwrap();
        assert_eq!(program.name(), "sh");
        assert_eq!(program.line().lines().count(), 1);
    }
}
