//! Transfers by one system call each, where the kernel has no rings.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::engine::{Engine, Transfer, failed};
use super::part::Way;
use furlong_lab::model::Failure;

/// Performs each transfer when it is started.
pub(super) struct Plain<'m> {
    file: &'m File,
    done: Vec<usize>,
}

impl<'m> Plain<'m> {
    pub(super) fn new(file: &'m File) -> Self {
        Self { file, done: vec![] }
    }

    /// Does one call. Returns the bytes that it moved.
    fn call(&self, Transfer { place, offset, way }: Transfer<'_>) -> io::Result<usize> {
        let (fd, start, len) = (self.file.as_raw_fd(), place.as_ptr().cast(), place.len());
        let offset = i64::try_from(offset).map_err(io::Error::other)?;
        let moved = match way {
            // SAFETY: `len` bytes at the place may be written.
            Way::Read => unsafe { libc::pread(fd, start, len, offset) },
            // SAFETY: `len` bytes at the place may be read.
            Way::Write => unsafe { libc::pwrite(fd, start, len, offset) },
        };
        usize::try_from(moved).map_err(|_| io::Error::last_os_error())
    }
}

impl<'m> Engine<'m> for Plain<'m> {
    fn start(&mut self, tag: usize, transfer: Transfer<'m>) -> Result<(), Failure> {
        let len = transfer.place.len();
        let moved = loop {
            match self.call(transfer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                moved => break moved,
            }
        };
        let moved = moved.and_then(|moved| match moved == len {
            true => Ok(()),
            false => Err(io::Error::other(format!("{moved} of {len} bytes"))),
        });
        moved.map_err(|error| failed(transfer.way, &error))?;
        self.done.push(tag);
        Ok(())
    }

    fn wait(&mut self, done: &mut Vec<usize>) -> Result<(), Failure> {
        done.append(&mut self.done);
        Ok(())
    }
}
