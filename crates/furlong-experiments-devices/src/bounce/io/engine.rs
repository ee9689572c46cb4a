//! Ways to submit transfers to the device.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io;

use super::originals::Originals;
use super::part::Way;
use super::plain::Plain;
use super::ring::Ring;
use crate::bounce::test_memory::Place;
use furlong_lab::error::cause;
use furlong_lab::model::Failure;

/// A transfer of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer<'m> {
    pub(super) place: Place<'m>,
    /// Byte offset on the device.
    pub(super) offset: u64,
    pub(super) way: Way,
}

/// Submits transfers to the device.
pub(super) trait Engine<'m>: Send {
    /// Starts a transfer, or queues it until the next wait.
    ///
    /// # Errors
    /// The device refuses.
    fn start(&mut self, tag: usize, transfer: Transfer<'m>) -> Result<(), Failure>;

    /// Waits until at least one transfer is done, and appends the tags of all that are. At least
    /// one must be in flight.
    ///
    /// # Errors
    /// The device failed.
    fn wait(&mut self, done: &mut Vec<usize>) -> Result<(), Failure>;
}

/// Describes a failed transfer.
pub(super) fn failed(way: Way, error: &io::Error) -> Failure {
    let verb = match way {
        Way::Read => "read",
        Way::Write => "written",
    };
    Failure(format!("the device cannot be {verb}: {}", cause(error)))
}

/// The engine that this machine has.
#[derive(Clone, Debug)]
pub(super) struct Means {
    /// The reason why there is no ring.
    note: Option<String>,
}

impl Means {
    /// Tests for rings.
    pub(super) fn here() -> Self {
        let why = Ring::try_out().err();
        let note = why.map(|why| {
            format!(
                "io_uring is not available ({}): each job has one transfer in flight at a time",
                cause(&why)
            )
        });
        Self { note }
    }

    /// A note for the reader of the record.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Makes an engine for the buffers of a job.
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
            Err(error) => Err(Failure(format!("cannot create a ring: {}", cause(&error)))),
        }
    }
}
