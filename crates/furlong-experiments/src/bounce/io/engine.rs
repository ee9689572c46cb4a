//! How transfers get to the device.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io;

use super::originals::Originals;
use super::part::Way;
use super::plain::Plain;
use super::ring::Ring;
use crate::bounce::ground::Place;
use furlong_lab::error::cause;
use furlong_lab::model::Failure;

/// A block on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer<'m> {
    pub(super) place: Place<'m>,
    /// Where it is on the device.
    pub(super) offset: u64,
    pub(super) way: Way,
}

/// Takes transfers to the device.
pub(super) trait Engine<'m>: Send {
    /// Begins a transfer, or puts it off until somebody waits.
    ///
    /// # Errors
    /// The device refuses.
    fn start(&mut self, tag: usize, transfer: Transfer<'m>) -> Result<(), Failure>;

    /// Waits until at least one transfer is over, and tells all that are. Some must be under way.
    ///
    /// # Errors
    /// The device failed.
    fn wait(&mut self, done: &mut Vec<usize>) -> Result<(), Failure>;
}

/// What a failed transfer is told as.
pub(super) fn failed(way: Way, error: &io::Error) -> Failure {
    let verb = match way {
        Way::Read => "read",
        Way::Write => "written",
    };
    Failure(format!("the device cannot be {verb}: {}", cause(error)))
}

/// Which engine there is on this machine.
#[derive(Clone, Debug)]
pub(super) struct Means {
    /// Why there is no ring.
    note: Option<String>,
}

impl Means {
    /// Tries.
    pub(super) fn here() -> Self {
        let why = Ring::try_out().err();
        let note = why.map(|why| {
            format!(
                "without io_uring ({}), so that each job has one transfer under way at a time",
                cause(&why)
            )
        });
        Self { note }
    }

    /// What the reader of the record should know about it.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// An engine for the buffers of a job.
    ///
    /// # Errors
    /// The system has no more of them.
    pub(super) fn engine<'m>(
        &self,
        file: &'m File,
        originals: &Originals,
    ) -> Result<Box<dyn Engine<'m> + 'm>, Failure> {
        if self.note.is_some() {
            return Ok(Box::new(Plain::new(file)));
        }
        let ring = Ring::new(file, originals.count());
        match ring {
            Ok(ring) => Ok(Box::new(ring)),
            Err(error) => Err(Failure(format!("there is no ring: {}", cause(&error)))),
        }
    }
}
