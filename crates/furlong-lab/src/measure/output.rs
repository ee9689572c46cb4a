//! What commands print: kept where somebody wants to find figures in it or to compare it, else
//! thrown away.
//!
//! It goes through a file, since a reader that has to keep up with the command would disturb it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use tempfile::TempDir;

use super::finished::Finished;
use super::launcher::Output;
use super::pattern::Pattern;
use crate::error::cause;
use crate::hash::{digest, fingerprint};

/// Figures are looked for in so much of the end of what a command prints.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// A place for what one command prints.
pub(super) struct Outputs {
    directory: TempDir,
}

impl Outputs {
    /// A place in the directory for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        Ok(Self { directory })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("output")
    }

    /// Where the next command's output goes; what was there is gone.
    pub(super) fn kept(&self) -> Output {
        Output::File(self.path())
    }

    /// Where an output goes that nobody wants.
    pub(super) fn discarded() -> Output {
        Output::Discard
    }

    /// The figures that the last command printed, by their metrics: on standard output or, where a
    /// pattern matches nothing there, at the end of standard error. A figure that is not there is
    /// left out.
    ///
    /// # Errors
    ///
    /// What was found and is no number.
    pub(super) fn find(
        &self,
        patterns: &[Pattern],
        finished: &Finished,
    ) -> Result<BTreeMap<String, f64>, String> {
        let printed = self.end().map_err(|error| unreadable(&error))?;
        let mut figures = BTreeMap::new();
        for pattern in patterns {
            let found = match pattern.find(&printed)? {
                None => pattern.find(&finished.error_tail)?,
                found => found,
            };
            figures.extend(found.map(|value| (pattern.metric.name.clone(), value)));
        }
        Ok(figures)
    }

    /// The end of the output.
    fn end(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT_BYTES)))?;
        let mut end = vec![];
        file.take(LOOKED_AT_BYTES).read_to_end(&mut end)?;
        Ok(end)
    }

    /// A hash of all of the output.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn digest(&self) -> Result<u64, String> {
        let read = || -> io::Result<u64> {
            let mut file = File::open(self.path())?;
            let (mut hash, mut piece) = (0, vec![]);
            loop {
                piece.clear();
                // Every piece but the last is as long as this, however short the reads are.
                if file.by_ref().take(1 << 16).read_to_end(&mut piece)? == 0 {
                    return Ok(hash);
                }
                hash = digest(hash, [fingerprint(&piece)]);
            }
        };
        read().map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("what it printed cannot be read: {}", cause(error))
}
