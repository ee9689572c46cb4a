//! Mappings with a pointer to the original at each copy: for drivers that keep pointers to their
//! buffers, and get only an address in between.

use core::ptr::NonNull;

use super::reserve::Ask;
use crate::addr::{Address, Iova, PhysAddr};
use crate::bounce::{Back, Config, Device, Direction, Kind, MapError, Memory, Misuse, Pool};

/// The address of an original, as recorded.
fn address(original: NonNull<[u8]>) -> PhysAddr {
    PhysAddr::new(original.as_ptr().addr() as u64)
}

impl<M: Memory, C: Config> Pool<M, C> {
    /// Maps memory that the caller points to, and copies it into the pool. Returns the device
    /// address of the first byte.
    ///
    /// Like [`map_raw`](Self::map_raw), without physical addresses: the pool's [`Memory`] copies
    /// nothing, and the caller points to the original again to unmap.
    ///
    /// # Errors
    /// See [`MapError`]; nothing has changed.
    ///
    /// # Safety
    /// `original` is valid for reads, has a value in every byte, and nobody writes it during the
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
            // SAFETY: the caller guarantees it, for the duration of this call.
            let bytes = unsafe { original.as_ref() };
            self.fill_run(&spot, bytes);
            spot.at
        })
    }

    /// Ends the mapping that begins at `at`. First copies back to `original`, if the device writes,
    /// as much as `back` says.
    ///
    /// # Errors
    /// See [`Misuse`]; [`Misuse::Original`] if other memory was mapped there. Nothing has changed.
    ///
    /// # Safety
    /// `original` is the memory that was mapped, and valid for writes if the device writes. Nobody
    /// else uses it during the call.
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
            // SAFETY: the caller guarantees it, for the duration of this call.
            let bytes = unsafe { original.as_mut() };
            let run = self.run(&found.spot);
            run.fetch(found.spot.offset as usize, &mut bytes[..written]);
        }
        self.release_closed(device, found.spot);
        Ok(())
    }
}
