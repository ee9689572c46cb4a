//! Output of commands in which figures are searched, or which is compared: it is kept in a file.
//!
//! A file is used because a reader of a pipe would run beside the command and disturb it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use tempfile::TempDir;

use super::pattern::Pattern;
use crate::error::cause;
use crate::hash::fingerprint;
use crate::measure::launch::finished::Finished;
use crate::measure::launch::launcher::Output;

/// Length of the end of an output that is searched for figures.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// A place for the output of one command.
pub(super) struct Outputs {
    directory: TempDir,
}

impl Outputs {
    /// Makes a place in the directory for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        let directory = tempfile::tempdir()?;
        Ok(Self { directory })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("output")
    }

    /// Returns the destination of the next command's output; it replaces the last output.
    pub(super) fn kept(&self) -> Output {
        Output::File(self.path())
    }

    /// Finds the figures that the last command printed, by metric. It searches standard output,
    /// then, for a pattern without a match, the end of standard error.
    ///
    /// # Errors
    ///
    /// A pattern without a match, or with one that is not a number.
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
            let value = found.ok_or_else(|| pattern.without_match())?;
            figures.insert(pattern.metric.name.clone(), value);
        }
        Ok(figures)
    }

    /// Reads the end of the output.
    fn end(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT_BYTES)))?;
        let mut end = vec![];
        file.take(LOOKED_AT_BYTES).read_to_end(&mut end)?;
        Ok(end)
    }

    /// Hashes all of the output.
    ///
    /// # Errors
    ///
    /// The output cannot be read.
    pub(super) fn digest(&self) -> Result<u64, String> {
        let read = File::open(self.path()).and_then(fingerprint);
        read.map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("its output cannot be read: {}", cause(error))
}
