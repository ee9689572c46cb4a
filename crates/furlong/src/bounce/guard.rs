//! Mappings of slices: guards, in safe Rust.
#![forbid(unsafe_code)]

use core::fmt;
use core::ops::Range;

use super::config::Config;
use super::config::Standard;
use super::device::Device;
use super::direction::Direction;
use super::error::{MapError, SyncError};
use super::memory::Memory;
use super::pool::Pool;
use super::record::Kind;
use super::reserve::Ask;
use super::spot::Spot;
use crate::addr::{Iova, PhysAddr};

mod sealed {
    pub trait Sealed {}
}

/// A borrowed buffer and which way its data goes.
pub trait Buffer: sealed::Sealed {
    /// Which way.
    const DIRECTION: Direction;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// The bytes that the device's go to; empty if there are none.
    fn room(&mut self) -> &mut [u8];
}

/// A buffer that the CPU may write while it is mapped.
pub trait BufferMut: Buffer {}

/// The device reads it.
#[derive(Clone, Copy, Debug)]
pub struct ToDevice<'a>(pub &'a [u8]);

impl sealed::Sealed for ToDevice<'_> {}

impl Buffer for ToDevice<'_> {
    const DIRECTION: Direction = Direction::ToDevice;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut []
    }
}

/// The device writes it.
#[derive(Debug)]
pub struct FromDevice<'a>(pub &'a mut [u8]);

impl sealed::Sealed for FromDevice<'_> {}

impl Buffer for FromDevice<'_> {
    const DIRECTION: Direction = Direction::FromDevice;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.0
    }
}

impl BufferMut for FromDevice<'_> {}

/// The device reads and writes it.
#[derive(Debug)]
pub struct Both<'a>(pub &'a mut [u8]);

impl sealed::Sealed for Both<'_> {}

impl Buffer for Both<'_> {
    const DIRECTION: Direction = Direction::Both;

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.0
    }
}

impl BufferMut for Both<'_> {}

/// A buffer that a device can reach, through its place in the pool.
///
/// The buffer stays borrowed: the CPU sees what the device has written after a
/// [sync](Self::sync_for_cpu), or when the mapping ends. Dropping it copies back and unmaps. A
/// guard that is forgotten keeps its slots for good; nothing is written to the buffer then.
#[must_use = "it is unmapped as soon as this is dropped"]
pub struct Mapped<'a, B: Buffer, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    buffer: B,
    /// Taken out only when the mapping ends.
    spot: Option<Spot<'a, C>>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps a buffer for a device, and copies it there.
    ///
    /// The low bits of the buffer's address that the device asks for
    /// ([`Limits::min_align_mask`](super::Limits::min_align_mask)) are those of the address that it
    /// gets.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    ///
    /// # Cost
    /// One copy of the buffer, and two exchanges for map and unmap together where the CPU's own
    /// area has room. O(segments of an area) there; nothing is obtained unless the pool grows.
    #[inline]
    pub fn map<'a, B: Buffer>(
        &'a self,
        device: &'a Device,
        buffer: B,
    ) -> Result<Mapped<'a, B, M, C>, MapError> {
        let ask = Self::ask(&buffer);
        // A guard is made in one place, so that it is not moved while the copy's stores drain.
        let spot = self.reserve(device, &ask, |spot| spot)?;
        Ok(self.filled(device, buffer, spot))
    }

    /// What is asked for a buffer.
    #[inline]
    pub(super) fn ask<B: Buffer>(buffer: &B) -> Ask {
        let bytes = buffer.bytes();
        Ask {
            original: Some(PhysAddr::new(bytes.as_ptr().addr() as u64)),
            len: bytes.len(),
            direction: B::DIRECTION,
            kind: Kind::Guarded,
        }
    }

    /// The guard of a run that is to hold a buffer.
    #[inline]
    pub(super) fn filled<'a, B: Buffer>(
        &'a self,
        device: &'a Device,
        buffer: B,
        spot: Spot<'a, C>,
    ) -> Mapped<'a, B, M, C> {
        self.fill_run(&spot, buffer.bytes());
        Mapped {
            pool: self,
            device,
            buffer,
            spot: Some(spot),
        }
    }
}

impl<'a, B: Buffer, M: Memory, C: Config> Mapped<'a, B, M, C> {
    #[inline]
    fn spot(&self) -> &Spot<'a, C> {
        self.spot.as_ref().expect("a guard has its run")
    }

    /// Where the device finds the first byte.
    #[inline]
    pub fn address(&self) -> Iova {
        self.spot().at
    }

    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "nothing empty is mapped")]
    pub fn len(&self) -> usize {
        self.spot().len as usize
    }

    /// The slots that it takes.
    pub fn slots(&self) -> u32 {
        self.spot().slots
    }

    /// The buffer, as the CPU has it.
    pub fn original(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Checks that a range is in the mapping.
    fn inside(&self, range: &Range<usize>) -> Result<(), SyncError> {
        if range.start >= range.end {
            return Err(SyncError::ZeroSize);
        }
        if range.end > self.len() {
            let (start, len) = (self.address(), self.len());
            return Err(SyncError::Outside { start, len });
        }
        Ok(())
    }

    /// Copies these bytes of the buffer to the device, if it reads.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    pub fn sync_for_device(&self, range: Range<usize>) -> Result<(), SyncError> {
        self.inside(&range)?;
        if B::DIRECTION.reaches_device() {
            let at = self.spot().offset as usize + range.start;
            self.pool
                .run(self.spot())
                .fill(at, &self.buffer.bytes()[range]);
        }
        Ok(())
    }

    /// Copies these bytes back to the buffer, if the device writes.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    pub fn sync_for_cpu(&mut self, range: Range<usize>) -> Result<(), SyncError> {
        self.inside(&range)?;
        self.fetch(range);
        Ok(())
    }

    #[inline]
    fn fetch(&mut self, range: Range<usize>) {
        if let (true, Some(spot)) = (B::DIRECTION.reaches_cpu(), &self.spot) {
            let at = spot.offset as usize + range.start;
            let run = self.pool.run(spot);
            run.fetch(at, &mut self.buffer.room()[range]);
        }
    }

    /// Unmaps, and copies back the first `written` bytes: what the device says that it has written.
    /// Of what it says beyond the mapping nothing is believed.
    pub fn finish(mut self, written: usize) {
        let len = self.len();
        self.fetch(0..written.min(len));
        self.end();
    }

    /// Unmaps without a copy.
    pub fn discard(mut self) {
        self.end();
    }

    #[inline]
    fn end(&mut self) {
        if let Some(spot) = self.spot.take() {
            self.pool.release(self.device, spot);
        }
    }
}

impl<B: BufferMut, M: Memory, C: Config> Mapped<'_, B, M, C> {
    /// The buffer, to be written by the CPU; the device sees that after a
    /// [sync](Mapped::sync_for_device), if it reads.
    pub fn original_mut(&mut self) -> &mut [u8] {
        self.buffer.room()
    }
}

impl<B: Buffer, M: Memory, C: Config> Drop for Mapped<'_, B, M, C> {
    #[inline]
    fn drop(&mut self) {
        if let Some(spot) = &self.spot {
            let len = spot.len as usize;
            self.fetch(0..len);
            self.end();
        }
    }
}

impl<B: Buffer, M: Memory, C: Config> fmt::Debug for Mapped<'_, B, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped")
            .field("address", &self.address())
            .field("len", &self.len())
            .field("direction", &B::DIRECTION)
            .finish_non_exhaustive()
    }
}

/// Memory that a device and the CPU share as long as it lives: a descriptor ring, a mailbox. It has
/// no original, and is zeroed.
///
/// One that is forgotten keeps its slots for good.
#[must_use = "it is given back as soon as this is dropped"]
pub struct Allocation<'a, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    spot: Option<Spot<'a, C>>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Memory without an original, aligned as the device asks for, zeroed.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    pub fn allocate<'a>(
        &'a self,
        device: &'a Device,
        len: usize,
    ) -> Result<Allocation<'a, M, C>, MapError> {
        let ask = Ask {
            original: None,
            len,
            direction: Direction::Both,
            kind: Kind::Guarded,
        };
        self.reserve(device, &ask, |spot| {
            self.run(&spot).zero(0, spot.bytes());
            Allocation {
                pool: self,
                device,
                spot: Some(spot),
            }
        })
    }
}

impl<'a, M: Memory, C: Config> Allocation<'a, M, C> {
    fn spot(&self) -> &Spot<'a, C> {
        self.spot.as_ref().expect("a guard has its run")
    }

    /// Where the device finds the first byte: at a slot, at least.
    pub fn address(&self) -> Iova {
        self.spot().at
    }

    /// Its bytes.
    #[expect(clippy::len_without_is_empty, reason = "nothing empty is allocated")]
    pub fn len(&self) -> usize {
        self.spot().len as usize
    }

    fn inside(&self, at: usize, len: usize) -> Result<(), SyncError> {
        if len == 0 {
            return Err(SyncError::ZeroSize);
        }
        if at > self.len() || len > self.len() - at {
            let (start, len) = (self.address(), self.len());
            return Err(SyncError::Outside { start, len });
        }
        Ok(())
    }

    /// Copies `from` to byte `at`.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    pub fn write(&mut self, at: usize, from: &[u8]) -> Result<(), SyncError> {
        self.inside(at, from.len())?;
        self.pool.run(self.spot()).fill(at, from);
        Ok(())
    }

    /// Copies what is at byte `at` to `to`. A device may change it meanwhile: decide on the copy.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    pub fn read(&self, at: usize, to: &mut [u8]) -> Result<(), SyncError> {
        self.inside(at, to.len())?;
        self.pool.run(self.spot()).fetch(at, to);
        Ok(())
    }
}

impl<M: Memory, C: Config> Drop for Allocation<'_, M, C> {
    fn drop(&mut self) {
        if let Some(spot) = self.spot.take() {
            self.pool.release(self.device, spot);
        }
    }
}

impl<M: Memory, C: Config> fmt::Debug for Allocation<'_, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocation")
            .field("address", &self.address())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
