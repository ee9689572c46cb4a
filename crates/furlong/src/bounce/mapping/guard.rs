//! Mappings of slices by guards, in safe Rust.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::reserve::Ask;
use super::spot::Spot;
use crate::addr::{Iova, PhysAddr};
use crate::bounce::{Config, Device, Direction, Kind, MapError, Memory, Pool, Standard, SyncError};
use crate::forms::{Sealed, debug_as};

/// A borrowed buffer with the direction of its data.
pub trait Buffer: Sealed {
    /// The direction.
    const DIRECTION: Direction;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// The destination of the device's bytes; empty if there is none.
    fn room(&mut self) -> &mut [u8];
}

/// A buffer that the CPU may write while it is mapped.
pub trait BufferMut: Buffer {}

/// A buffer that the device reads.
#[derive(Clone, Copy, Debug)]
pub struct ToDevice<'a>(pub &'a [u8]);

impl Sealed for ToDevice<'_> {}

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

/// A buffer that the device writes.
#[derive(Debug)]
pub struct FromDevice<'a>(pub &'a mut [u8]);

/// A buffer that the device reads and writes.
#[derive(Debug)]
pub struct Both<'a>(pub &'a mut [u8]);

macro_rules! written_by_device {
    ($($buffer:ident),+) => {$(
        impl Sealed for $buffer<'_> {}

        impl Buffer for $buffer<'_> {
            const DIRECTION: Direction = Direction::$buffer;

            #[inline]
            fn bytes(&self) -> &[u8] {
                self.0
            }

            #[inline]
            fn room(&mut self) -> &mut [u8] {
                self.0
            }
        }

        impl BufferMut for $buffer<'_> {}
    )+};
}
written_by_device! { FromDevice, Both }

/// A buffer that is mapped for a device.
///
/// The buffer stays borrowed. The CPU sees the device's writes after a
/// [sync](Self::sync_for_cpu), or when the mapping ends. Dropping the guard copies back and unmaps.
/// A forgotten guard keeps its slots for good, and its buffer is not written.
#[must_use = "it is unmapped as soon as this is dropped"]
pub struct Mapped<'a, B: Buffer, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    buffer: B,
    /// Taken out only when the mapping ends.
    spot: Option<Spot<'a, C>>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps a buffer for a device, and copies it into the pool.
    ///
    /// The device address has the low bits of the buffer's address that the device's
    /// [`Limits::min_align_mask`](crate::bounce::Limits::min_align_mask) selects.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    ///
    /// # Cost
    /// One copy of the buffer, and two atomic exchanges for map and unmap together if the CPU's own
    /// area has room. O(segments of an area) there. Nothing is allocated unless the pool grows.
    #[inline]
    pub fn map<'a, B: Buffer>(
        &'a self,
        device: &'a Device,
        buffer: B,
    ) -> Result<Mapped<'a, B, M, C>, MapError> {
        let ask = Self::ask(&buffer);
        // The guard is made in one place: a move would stall until the copy's stores have drained.
        let spot = self.reserve(device, &ask, |spot| spot)?;
        Ok(self.filled(device, buffer, spot))
    }

    /// The request for a buffer.
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

    /// Fills a run with a buffer, and makes its guard.
    #[inline]
    pub(crate) fn filled<'a, B: Buffer>(
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

    /// The device address of the first byte.
    #[inline]
    pub fn address(&self) -> Iova {
        self.spot().at
    }

    /// The number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "nothing empty is mapped")]
    pub fn len(&self) -> usize {
        self.spot().len as usize
    }

    /// The number of slots that it takes.
    pub fn slots(&self) -> u32 {
        self.spot().slots
    }

    /// The buffer, as the CPU sees it.
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
    pub fn sync_for_device(&mut self, range: Range<usize>) -> Result<(), SyncError> {
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

    /// Unmaps, and copies back the first `written` bytes, the number that the device reports. A
    /// number beyond the mapping is cut to its length.
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
    /// The buffer, for the CPU to write. The device sees the writes after a
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

debug_as! { Mapped<'_, B, M, C> where [B: Buffer, M: Memory, C: Config]:
    |it| Mapped { address: it.address(), len: it.len(), direction: B::DIRECTION, .. }
}

/// Memory that a device and the CPU share for as long as it lives: a descriptor ring, a mailbox. It
/// has no original, and is zeroed.
///
/// A forgotten allocation keeps its slots for good.
#[must_use = "it is given back as soon as this is dropped"]
pub struct Allocation<'a, M: Memory, C: Config = Standard> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    spot: Option<Spot<'a, C>>,
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Allocates memory without an original, aligned to the device's alignment, and zeroed.
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

    /// The device address of the first byte, aligned to a slot at least.
    pub fn address(&self) -> Iova {
        self.spot().at
    }

    /// The number of bytes.
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

    /// Copies the bytes at `at` to `to`. A device may change them meanwhile: decide on the copy.
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

debug_as! { Allocation<'_, M, C> where [M: Memory, C: Config]:
    |it| Allocation { address: it.address(), len: it.len(), .. }
}
