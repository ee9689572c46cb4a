//! Mappings by physical address, for kernels. Later calls identify a mapping by its device address.

use core::ptr::NonNull;

use super::record::Owner;
use super::reserve::Ask;
use super::spot::Spot;
use crate::addr::{Address, Iova, PhysAddr};
use crate::bounce::{
    Block, Config, Device, Direction, Entry, Kind, MapError, Memory, Misuse, OnDrop, Pool,
    SyncError, Zeroing,
};
use crate::sync::atomic::Ordering;

/// The bytes that are copied back when a mapping ends, if the device writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// All bytes.
    All,
    /// This number of first bytes, as the device reports it. A number beyond the mapping is cut to
    /// its length.
    First(usize),
    /// None: they were synced, or are not needed.
    Nothing,
}

impl Back {
    /// The number of bytes to copy back, of `len` mapped ones.
    #[inline]
    pub(crate) fn bytes(self, len: usize) -> usize {
        match self {
            Self::All => len,
            Self::First(written) => written.min(len),
            Self::Nothing => 0,
        }
    }
}

/// A mapping that was found by an address in it.
pub(crate) struct Found<'a, C: Config> {
    pub(crate) spot: Spot<'a, C>,
    pub(crate) entry: Entry,
    /// The record's owner; nobody for a transient block.
    owner: Owner,
}

/// A mapping whose address has not been returned yet. Its drop ends the mapping, after a panic of
/// the memory's code in the copy.
struct Untold<'a, M: Memory, C: Config> {
    pool: &'a Pool<M, C>,
    device: &'a Device,
    spot: Spot<'a, C>,
}

impl<M: Memory, C: Config> Untold<'_, M, C> {
    #[inline(always)]
    fn tell(self) -> Iova {
        let at = self.spot.at;
        core::mem::forget(self);
        at
    }
}

impl<M: Memory, C: Config> Drop for Untold<'_, M, C> {
    #[cold]
    fn drop(&mut self) {
        let spot = Spot { ..self.spot };
        self.pool.release(self.device, spot);
    }
}

impl<'a, C: Config> Found<'a, C> {
    /// The mapping of the run at `slot` of a block whose slot 0 has device address `base`.
    #[inline(always)]
    fn new(block: &'a Block<C>, slot: usize, base: u64, owner: Owner, entry: Entry) -> Self {
        let spot = Spot::new(block, slot, base, &entry);
        Self { spot, entry, owner }
    }

    /// Checks that the mapping is this device's, of this kind, and not unclaimed.
    fn belongs_to(&self, device: &Device, kind: Kind) -> Result<(), Misuse> {
        if self.entry.device != device.id() {
            return Err(Misuse::Foreign(self.entry.device));
        }
        match self.entry.kind {
            own if own == kind => Ok(()),
            Kind::Guarded => Err(Misuse::Guarded),
            Kind::UnclaimedRaw | Kind::UnclaimedAllocated => Err(Misuse::Unclaimed),
            _ => Err(Misuse::Kind),
        }
    }

    fn goes(&self, direction: Direction) -> Result<(), Misuse> {
        let same = self.entry.direction == direction;
        same.then_some(())
            .ok_or(Misuse::Direction(self.entry.direction))
    }

    pub(crate) fn starts(&self, at: Iova) -> Result<(), Misuse> {
        let same = self.spot.at == at;
        same.then_some(()).ok_or(Misuse::NotStart(self.spot.at))
    }
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps `len` bytes of physical memory for a device, and copies them into the pool. Returns the
    /// device address of the first one.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed. The same if [`Memory::read`] panics.
    ///
    /// # Safety
    /// Until the mapping ends, the [`Memory`] of this pool can read, and write if the device does,
    /// `len` bytes at `original`. Nobody else writes them while a map, sync or unmap copies them,
    /// or reads them while one writes them.
    ///
    /// # Cost
    /// Like [`map`](Self::map).
    #[inline]
    pub unsafe fn map_raw(
        &self,
        device: &Device,
        original: PhysAddr,
        len: usize,
        direction: Direction,
    ) -> Result<Iova, MapError> {
        let ask = Ask {
            original: Some(original),
            len,
            direction,
            kind: Kind::Raw,
        };
        self.reserve(device, &ask, move |spot| {
            let untold = Untold {
                pool: self,
                device,
                spot,
            };
            let spot = &untold.spot;
            let run = self.run(spot);
            if C::Zeroing::PADS {
                run.zero_around(spot.offset as usize, len);
            }
            run.lend(spot.offset as usize, len, |to| {
                // SAFETY: the caller guarantees the original; `len` bytes at `to` are in the run.
                unsafe { self.memory().read(original, to, len) }
            });
            untold.tell()
        })
    }

    /// Ends the mapping that begins at `at`. First copies back, if the device writes, as much as
    /// `back` says.
    ///
    /// # Errors
    /// See [`Misuse`]; nothing has changed. If [`Memory::write`] panics, the mapping has ended.
    ///
    /// # Safety
    /// The original is as [`map_raw`](Self::map_raw) requires. No sync of the same mapping runs at
    /// the same time.
    ///
    /// # Cost
    /// O(blocks) to find the mapping; if its data begins after the first slot of its run, a look at
    /// each slot before.
    #[inline]
    pub unsafe fn unmap_raw(
        &self,
        device: &Device,
        at: Iova,
        direction: Direction,
        back: Back,
    ) -> Result<(), Misuse> {
        match self.own_mapping(device, at, Kind::Raw, direction) {
            // SAFETY: the caller keeps the contract of this same method.
            Some(found) => unsafe { self.unmap_found(device, found, back) },
            // SAFETY: as above.
            None => unsafe { self.unmap_other(device, at, direction, back) },
        }
    }

    /// The general case: the data may begin at any slot of its run, and an error has its reason.
    ///
    /// # Safety
    /// Like [`unmap_raw`](Self::unmap_raw).
    #[inline(never)]
    unsafe fn unmap_other(
        &self,
        device: &Device,
        at: Iova,
        direction: Direction,
        back: Back,
    ) -> Result<(), Misuse> {
        let found = self.mapping_to_end(device, at, Kind::Raw, Some(direction))?;
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { self.unmap_found(device, found, back) }
    }

    /// Ends a mapping that is the caller's to end.
    ///
    /// # Safety
    /// Like [`unmap_raw`](Self::unmap_raw).
    #[inline(always)]
    unsafe fn unmap_found(
        &self,
        device: &Device,
        found: Found<'_, C>,
        back: Back,
    ) -> Result<(), Misuse> {
        self.end(&found)?;
        let Found { spot, entry, .. } = found;
        // Also if the memory's code panics in the copy.
        let _given = OnDrop(|| self.release_closed(device, Spot { ..spot }));
        let written = back.bytes(entry.len as usize);
        if entry.direction.reaches_cpu() && written > 0 {
            let run = self.run(&spot);
            run.lend(spot.offset as usize, written, |from| {
                let original = PhysAddr::new(entry.original);
                // SAFETY: the caller guarantees the original; the bytes are in the run.
                unsafe { self.memory().write(original, from, written) }
            });
        }
        Ok(())
    }

    /// Copies `len` bytes from `at` on to the device, if it reads.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    ///
    /// # Safety
    /// The original is as [`map_raw`](Self::map_raw) requires. No unmap of the same mapping runs at
    /// the same time.
    ///
    /// # Cost
    /// One copy of the bytes; O(blocks) to find the mapping, and a look at each of its slots before
    /// `at`.
    pub unsafe fn sync_for_device_raw(
        &self,
        device: &Device,
        at: Iova,
        len: usize,
        direction: Direction,
    ) -> Result<(), SyncError> {
        let (found, delta) = self.sync_at(device, at, len, direction)?;
        if direction.reaches_device() {
            let run = self.run(&found.spot);
            run.lend(found.spot.offset as usize + delta, len, |to| {
                let original = PhysAddr::new(found.entry.original + delta as u64);
                // SAFETY: the caller guarantees the original; the bytes are in the run.
                unsafe { self.memory().read(original, to, len) }
            });
        }
        Ok(())
    }

    /// Copies `len` bytes from `at` on back to the original, if the device writes.
    ///
    /// # Errors
    /// See [`SyncError`]; nothing was copied.
    ///
    /// # Safety
    /// Like [`sync_for_device_raw`](Self::sync_for_device_raw).
    ///
    /// # Cost
    /// Like [`sync_for_device_raw`](Self::sync_for_device_raw).
    pub unsafe fn sync_for_cpu_raw(
        &self,
        device: &Device,
        at: Iova,
        len: usize,
        direction: Direction,
    ) -> Result<(), SyncError> {
        let (found, delta) = self.sync_at(device, at, len, direction)?;
        if direction.reaches_cpu() {
            let run = self.run(&found.spot);
            run.lend(found.spot.offset as usize + delta, len, |from| {
                let original = PhysAddr::new(found.entry.original + delta as u64);
                // SAFETY: the caller guarantees the original; the bytes are in the run.
                unsafe { self.memory().write(original, from, len) }
            });
        }
        Ok(())
    }

    /// Allocates memory without an original, zeroed, until
    /// [`deallocate_raw`](Self::deallocate_raw). Returns its device address and its CPU address.
    /// The CPU must use raw or volatile accesses.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    pub fn allocate_raw(
        &self,
        device: &Device,
        len: usize,
    ) -> Result<(Iova, NonNull<u8>), MapError> {
        let ask = Ask {
            original: None,
            len,
            direction: Direction::Both,
            kind: Kind::Allocated,
        };
        self.reserve(device, &ask, |spot| {
            let run = self.run(&spot);
            run.zero(0, spot.bytes());
            let mut start = NonNull::dangling();
            run.lend(spot.offset as usize, len, |part| start = part);
            (spot.at, start)
        })
    }

    /// Frees memory from [`allocate_raw`](Self::allocate_raw).
    ///
    /// # Errors
    /// See [`Misuse`]; nothing has changed.
    ///
    /// # Safety
    /// Nobody uses the memory any more.
    pub unsafe fn deallocate_raw(&self, device: &Device, at: Iova) -> Result<(), Misuse> {
        let found = self.mapping_to_end(device, at, Kind::Allocated, None)?;
        self.end(&found)?;
        self.release_closed(device, found.spot);
        Ok(())
    }

    /// The mapping that begins at `at`, if it is this device's and of this kind and direction.
    pub(super) fn mapping_to_end(
        &self,
        device: &Device,
        at: Iova,
        kind: Kind,
        direction: Option<Direction>,
    ) -> Result<Found<'_, C>, Misuse> {
        let found = self.mapping_at(at)?;
        found.belongs_to(device, kind)?;
        if let Some(direction) = direction {
            found.goes(direction)?;
        }
        found.starts(at)?;
        Ok(found)
    }

    /// The block and slot at a device address, and the device address of slot 0 of that block.
    #[inline]
    fn slot_at(&self, at: Iova) -> Option<(&Block<C>, usize, u64)> {
        self.blocks.iter().find_map(|(_, block)| {
            let (slot, base) = block.slot_at(at.raw())?;
            Some((block, slot, base))
        })
    }

    /// Fast path: the mapping whose data begins at `at`, in the first slot of its run, if it is
    /// this device's and of this kind and direction.
    #[inline(always)]
    fn own_mapping(
        &self,
        device: &Device,
        at: Iova,
        kind: Kind,
        direction: Direction,
    ) -> Option<Found<'_, C>> {
        let (block, slot, base) = self.slot_at(at)?;
        let (owner, entry) = block.book.own(slot, device.id(), direction, kind)?;
        let found = Found::new(block, slot, base, owner, entry);
        (found.spot.at == at).then_some(found)
    }

    /// The mapping with the byte at `at`, which may also be in a pad.
    pub(crate) fn mapping_at(&self, at: Iova) -> Result<Found<'_, C>, Misuse> {
        let Some((block, slot, base)) = self.slot_at(at) else {
            return self.transient_at(at);
        };
        let (start, owner, entry) = block.book.look(slot).ok_or(Misuse::NotMapped(at))?;
        Ok(Found::new(block, start, base, owner, entry))
    }

    #[cold]
    #[inline(never)]
    fn transient_at(&self, at: Iova) -> Result<Found<'_, C>, Misuse> {
        // Relaxed: the owner of a transient mapping's address has seen the count with it.
        if self.transient_count.load(Ordering::Relaxed) == 0 {
            return Err(Misuse::NotMapped(at));
        }
        let transients = self.transients.0.lock();
        let (index, transient) = transients.at(at).ok_or(Misuse::NotMapped(at))?;
        let spot = Spot::of_transient(index, transient);
        let entry = transient.entry;
        let owner = Owner::NOBODY;
        Ok(Found { spot, entry, owner })
    }

    /// Ends a mapping that was found by its address, unless another call just did.
    #[inline]
    pub(crate) fn end(&self, found: &Found<'_, C>) -> Result<(), Misuse> {
        let spot = &found.spot;
        let slot = spot.slot as usize;
        let ended = match spot.block {
            Some(block) => block.book.try_close(slot, found.owner),
            // Using up the spot frees its memory; of two calls that come here, only one succeeds.
            None => self.transients.0.lock().end(slot, spot.generation),
        };
        ended.then_some(()).ok_or(Misuse::NotMapped(spot.at))
    }

    /// The mapping for a sync of `len` bytes at `at`, and the offset of those bytes in it.
    fn sync_at(
        &self,
        device: &Device,
        at: Iova,
        len: usize,
        direction: Direction,
    ) -> Result<(Found<'_, C>, usize), SyncError> {
        if len == 0 {
            return Err(SyncError::ZeroSize);
        }
        let found = self.mapping_at(at)?;
        found.belongs_to(device, Kind::Raw)?;
        found.goes(direction)?;
        let (start, mapped) = (found.spot.at, found.entry.len as usize);
        let delta = at.raw().checked_sub(start.raw());
        let delta = delta.and_then(|delta| usize::try_from(delta).ok());
        match delta {
            Some(delta) if delta < mapped && len <= mapped - delta => Ok((found, delta)),
            _ => Err(SyncError::Outside { start, len: mapped }),
        }
    }
}
