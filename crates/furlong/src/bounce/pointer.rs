//! Mappings of memory that the caller points to, each time that it is copied: for drivers that keep
//! their buffers' pointers and get nothing but an address in between.

use core::ptr::NonNull;

use super::config::Config;
use super::device::Device;
use super::direction::Direction;
use super::error::{MapError, Misuse};
use super::memory::Memory;
use super::pool::Pool;
use super::raw::Back;
use super::record::Kind;
use super::reserve::Ask;
use crate::addr::{Address, Iova, PhysAddr};

/// What is noted of where an original lies.
fn address(original: NonNull<[u8]>) -> PhysAddr {
    PhysAddr::new(original.as_ptr().addr() as u64)
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps memory that the caller points to, and copies it there. Returns where the device finds
    /// the first byte.
    ///
    /// As [`map_raw`](Self::map_raw), without physical addresses: the pool's [`Memory`] copies
    /// nothing, and whoever unmaps points to the original again.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    ///
    /// # Safety
    /// `original` is good for reading, has a value in every byte, and nobody writes it during the
    /// call.
    pub unsafe fn map_pointer(
        &self,
        device: &Device,
        original: NonNull<[u8]>,
        direction: Direction,
    ) -> Result<Iova, MapError> {
        let ask = Ask {
            original: Some(address(original)),
            len: original.len(),
            direction,
            kind: Kind::Pointer,
        };
        self.reserve(device, &ask, |spot| {
            // SAFETY: the caller vouches for it, for as long as this call lasts.
            let bytes = unsafe { original.as_ref() };
            self.fill_run(&spot, bytes);
            spot.at
        })
    }

    /// Ends the mapping that begins at `at`, after copying back to `original` as `back` says if the
    /// device writes.
    ///
    /// # Errors
    /// See [`Misuse`]; [`Misuse::Original`] if something else was mapped there. Nothing has
    /// changed.
    ///
    /// # Safety
    /// `original` is what was mapped, and good for writing if the device writes; nobody else uses
    /// it during the call.
    pub unsafe fn unmap_pointer(
        &self,
        device: &Device,
        at: Iova,
        mut original: NonNull<[u8]>,
        direction: Direction,
        back: Back,
    ) -> Result<(), Misuse> {
        let found = self.mapping_to_end(device, at, Kind::Pointer, Some(direction))?;
        let (entry, expected) = (&found.entry, address(original).raw());
        if (entry.original, entry.len as usize) != (expected, original.len()) {
            return Err(Misuse::Original);
        }
        self.end(&found)?;
        let written = back.bytes(original.len());
        if direction.reaches_cpu() && written > 0 {
            // SAFETY: the caller vouches for it, for as long as this call lasts.
            let bytes = unsafe { original.as_mut() };
            let run = self.run(&found.spot);
            run.fetch(found.spot.offset as usize, &mut bytes[..written]);
        }
        self.release_closed(device, found.spot);
        Ok(())
    }
}
