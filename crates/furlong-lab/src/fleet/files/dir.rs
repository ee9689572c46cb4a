//! The directory that a fleet's tasks share with the process that started them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, cause};
use crate::fleet::step::Step;
use crate::record::build;

/// A fleet's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dir(PathBuf);

impl Dir {
    /// Makes a new directory with a copy of this executable, so that every task runs the same
    /// binary. It is for the user alone, as whom Slurm runs the tasks.
    ///
    /// # Errors
    ///
    /// It exists already, or cannot be made.
    pub fn make(path: &Path) -> Result<Self, Error> {
        let refuse = |error: &io::Error| {
            Error::usage(format!(
                "the fleet's directory {} cannot be created ({}): name another with --dir that \
                 every node can reach",
                path.display(),
                cause(error)
            ))
        };
        let private = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        private(path).map_err(|error| refuse(&error))?;
        let dir = Self(path.canonicalize().map_err(|error| refuse(&error))?);
        let made = (|| {
            private(&dir.parts())?;
            private(&dir.0.join("logs"))?;
            let program = build::executable().map_err(io::Error::other)?;
            fs::copy(program, dir.program())?;
            fs::set_permissions(dir.program(), PermissionsExt::from_mode(0o700))
        })();
        made.map_err(|error| refuse(&error))?;
        Ok(dir)
    }

    /// Opens an existing directory.
    ///
    /// # Errors
    ///
    /// It does not exist.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let refuse = |why: &str| {
            Error::usage(format!(
                "{} {why}: name the directory that `--on slurm` created",
                path.display()
            ))
        };
        let dir = path
            .canonicalize()
            .map_err(|error| refuse(&format!("cannot be read ({})", cause(&error))))?;
        let dir = Self(dir);
        if dir.order().exists() {
            Ok(dir)
        } else {
            Err(refuse("is not the directory of a fleet"))
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the file of the order.
    pub fn order(&self) -> PathBuf {
        self.0.join("order.json")
    }

    /// Returns the executable of the tasks.
    pub fn program(&self) -> PathBuf {
        self.0.join("furlong")
    }

    /// Returns the directory of the parts.
    pub fn parts(&self) -> PathBuf {
        self.0.join("parts")
    }

    /// Returns the file of a step's part.
    pub fn part(&self, step: Step) -> PathBuf {
        self.parts().join(match step {
            Step::Prepare => "prepare.json".to_owned(),
            Step::Block(number) => format!("block-{number}.json"),
        })
    }

    /// Returns the file of a task's messages; `%a` in the name stands for the number of a block.
    pub fn log(&self, name: &str) -> PathBuf {
        self.0.join("logs").join(format!("{name}.txt"))
    }
}
