//! Transfers through `io_uring`: many in flight at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::abort;

use io_uring::{IoUring, opcode, types};

use super::engine::{Engine, Transfer, failed};
use super::part::Way;
use furlong_lab::model::Failure;

/// A ring for one file.
pub(super) struct Ring<'m> {
    ring: IoUring,
    file: &'m File,
    /// Transfers in flight by tag: length and direction.
    transfers: Vec<Option<(usize, Way)>>,
}

impl<'m> Ring<'m> {
    /// Tests whether the kernel lets this process make a ring.
    pub(super) fn try_out() -> io::Result<()> {
        IoUring::new(1).map(drop)
    }

    /// Makes a ring for `depth` transfers at a time, with tags below `depth`.
    pub(super) fn new(file: &'m File, depth: usize) -> io::Result<Self> {
        let entries = u32::try_from(depth.next_power_of_two()).map_err(io::Error::other)?;
        Ok(Self {
            ring: IoUring::new(entries)?,
            file,
            transfers: vec![None; depth],
        })
    }

    fn is_idle(&self) -> bool {
        self.transfers.iter().all(Option::is_none)
    }

    /// Submits queued transfers, and waits for one to end.
    fn sleep(&self) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                waited => return waited.map(drop),
            }
        }
    }

    /// Returns the next transfer that has ended: its tag and its result.
    fn next_done(&mut self) -> Option<(usize, Result<(), Failure>)> {
        let entry = self.ring.completion().next()?;
        let tag = usize::try_from(entry.user_data()).ok()?;
        let (len, way) = self.transfers.get_mut(tag)?.take()?;
        let found = match usize::try_from(entry.result()) {
            Ok(done) if done == len => Ok(()),
            Ok(done) => Err(io::Error::other(format!("{done} of {len} bytes"))),
            Err(_) => Err(io::Error::from_raw_os_error(-entry.result())),
        };
        Some((tag, found.map_err(|error| failed(way, &error))))
    }
}

impl<'m> Engine<'m> for Ring<'m> {
    fn start(&mut self, tag: usize, transfer: Transfer<'m>) -> Result<(), Failure> {
        let Transfer { place, offset, way } = transfer;
        let (fd, start, len) = (
            types::Fd(self.file.as_raw_fd()),
            place.as_ptr(),
            place.len(),
        );
        let bytes = u32::try_from(len).map_err(|_| Failure("a transfer too long".to_owned()))?;
        let entry = match way {
            Way::Read => opcode::Read::new(fd, start, bytes).offset(offset).build(),
            Way::Write => opcode::Write::new(fd, start, bytes).offset(offset).build(),
        };
        let entry = entry.user_data(tag as u64);
        // SAFETY: the file is open and the place may be read and written during `'m`. This ring
        // does not outlive that; it is dropped only when nothing is in flight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            return Err(Failure(
                "more transfers than the ring has room for".to_owned(),
            ));
        }
        self.transfers[tag] = Some((len, way));
        Ok(())
    }

    fn wait(&mut self, done: &mut Vec<usize>) -> Result<(), Failure> {
        let slept = self.sleep();
        slept.map_err(|error| Failure(format!("io_uring_enter failed: {error}")))?;
        while let Some((tag, ended)) = self.next_done() {
            ended?;
            done.push(tag);
        }
        Ok(())
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        while !self.is_idle() {
            if self.sleep().is_err() {
                // The kernel may still write to this memory, which is about to be freed.
                abort();
            }
            while self.next_done().is_some() {}
        }
    }
}
